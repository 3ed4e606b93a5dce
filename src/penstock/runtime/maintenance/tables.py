"""Looks after the tables of a storage: small files put together, old files and former checkpoints deleted."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import ExternalError, PenstockError, first_line
from penstock.events import MaintenanceProgress
from penstock.graph.identifier import Identifier
from penstock.plan.maintenance import next_record, record_name
from penstock.plan.stages import MaintainTable
from penstock.spark.delta.maintenance import SMALL_FILE, MaintenanceSession
from penstock.storage import Storage, StorageLayout
from penstock.storage.cell_values import python_rows
from penstock.storage.checkpoint.changes import former_checkpoints
from penstock.storage.checkpoint.source_offsets import pending_versions
from penstock.storage.delta.commits import commit_time, read_commit
from penstock.storage.delta.table import added_files, open_delta_table
from penstock.storage.maintenance_records import read_maintenance, write_maintenance

_FEW: Final = 20  # so many small files to spare are not worth a job
_CLOCKS: Final = 3600.0  # seconds by which the clocks of two machines may differ
_FILE_RETENTION_SECONDS: Final = 7 * 86_400.0  # as long as Delta keeps files

FAILURES: Final = (PySparkException, Py4JError, DeltaError, OSError)
"""What Delta and Spark raise when a table cannot be looked after."""

Report = Callable[[Identifier, MaintenanceProgress, PenstockError | None], None]


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Looks after one table after the other; call it in one thread, by the holder of the storage's lock.

    Each step may be interrupted at any moment: what is committed is whole, and the next time does the rest. `report`
    is called after each table. `may_rewrite` says of which tables files may be put together now; a flow that
    merges into a table or replaces its rows would fail if that happened during its batch. Files younger than
    `least_retention` seconds stay in any case: while flows run, they may belong to a batch that is not committed yet.
    """

    spark: SparkSession
    layout: StorageLayout
    report: Report
    may_rewrite: Callable[[Identifier], bool] = lambda _table: True
    stop: threading.Event | None = None
    least_retention: float = 0.0

    def run(self, stages: Iterable[MaintainTable]) -> None:
        """Does all `stages`, unless `stop` is set; what goes wrong is reported and does not raise."""
        session: MaintenanceSession | None = None
        pending: Mapping[str, int] = {}
        for stage in stages:
            if self.stop is not None and self.stop.is_set():
                return
            if session is None:
                # Once for all tables: flows that run only go forward, and a version too old keeps files too long.
                session, pending = MaintenanceSession(self.spark), pending_versions(self.layout)
            self._maintain(session, stage, pending)

    def _maintain(self, session: MaintenanceSession, stage: MaintainTable, pending: Mapping[str, int]) -> None:
        started, error, done = time.monotonic(), None, MaintenanceProgress()
        records = read_maintenance(self.layout)
        record = records.get(record_name(stage.dataset))
        try:
            changed = record is None or record.version != stage.version
            done = self.optimize(session, stage, changed=changed)
            done = self.vacuum(session, stage, done, pending)
            done = self._prune(stage, done)
        except (*FAILURES, PenstockError, ValueError) as failure:
            if self.stop is not None and self.stop.is_set():
                return
            error = maintenance_failed(stage.dataset, failure)
        try:
            after = open_delta_table(stage.path).version()
        except (DeltaError, OSError, PenstockError):
            after = stage.version
        record = next_record(record, before=stage.version, after=after, now=time.time())
        write_maintenance(self.layout, {**records, record_name(stage.dataset): record})
        milliseconds = round((time.monotonic() - started) * 1000)
        self.report(stage.dataset, replace(done, duration_ms=milliseconds), error)

    def optimize(
        self,
        session: MaintenanceSession,
        stage: MaintainTable,
        *,
        thorough: bool = False,
        changed: bool = True,
    ) -> MaintenanceProgress:
        """Puts small files together, when they are many, or new rows have to find their place.

        `thorough` does so with a few, and for a table that wants to be left alone; `changed` means new rows.
        """
        if not self.may_rewrite(stage.dataset) or not (stage.optimize or thorough):
            return MaintenanceProgress()
        arranged = bool(stage.z_order) or stage.clustered
        if not (changed if arranged else thorough or spare_files(open_delta_table(stage.path)) >= _FEW):
            return MaintenanceProgress()
        return session.optimize(stage.path, stage.z_order)

    def vacuum(
        self,
        session: MaintenanceSession,
        stage: MaintainTable,
        done: MaintenanceProgress,
        pending: Mapping[str, int],
    ) -> MaintenanceProgress:
        """Deletes files that neither a recent version nor a flow that lags behind needs; see `retention`."""
        needed = self.retention(stage, pending)
        if needed is None:
            why = "a flow has still to read a version whose commit is gone, so it is unknown which files it needs"
            return replace(done, kept_because=why)
        deleted = session.vacuum(stage.path, needed)
        return replace(done, files_deleted=deleted, retention_hours=math.ceil(needed / 3600))

    def retention(self, stage: MaintainTable, pending: Mapping[str, int]) -> float | None:
        """Returns for how many seconds back files of the table are needed: its own retention, or a flow that lags.

        `pending` are the `pending_versions`. None when a flow lags behind so far that the log has lost the version.
        """
        retention = max(stage.retention, self.least_retention)
        table = open_delta_table(stage.path)
        version = pending.get(str(table.metadata().id))
        if version is None or version > table.version():
            return retention
        commit = read_commit(Storage(stage.path), version)
        made = None if commit is None else commit_time(commit)
        return None if made is None else max(retention, time.time() - made + _CLOCKS)

    def _prune(self, stage: MaintainTable, done: MaintenanceProgress) -> MaintenanceProgress:
        storage = Storage(self.layout.uri)
        changes, checkpoints, _ = self.layout.notes(stage.dataset)
        folders = [changes, *(entry.uri for entry in storage.list(checkpoints) if entry.is_directory)]
        before = time.time() - max(_FILE_RETENTION_SECONDS, stage.retention)
        removed = [
            former
            for folder in folders
            for former in former_checkpoints(storage, folder, generation=stage.generation, before=before)
        ]
        for folder in removed:
            storage.delete(folder)
        return replace(done, pruned=tuple(removed))


def maintenance_failed(table: Identifier, error: BaseException) -> ExternalError:
    """Returns MAINTENANCE_FAILED for what was raised."""
    name = str(table)
    return ExternalError("MAINTENANCE_FAILED", dataset=name, name=name, reason=first_line(error))


def spare_files(table: DeltaTable) -> int:
    """Returns how many fewer files there would be if small ones of each partition were put together; no job."""
    files = added_files(table)
    partitions = [name for name in files.column_names if name.startswith("partition.")]
    rows = python_rows(files.select(["size_bytes", *partitions]))
    small = Counter(tuple(row[name] for name in partitions) for row in rows if row["size_bytes"] < SMALL_FILE)
    return sum(count - 1 for count in small.values())
