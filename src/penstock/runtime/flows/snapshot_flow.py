"""A flow of whole snapshots: takes those that are there, one after the other."""

from __future__ import annotations

import decimal
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import DataError
from penstock.events import FlowStatus
from penstock.graph.elements import NextSnapshot, SnapshotChangeFlow
from penstock.plan.stages import RunSnapshotFlow
from penstock.runtime.flows.accounting import accounts_of_snapshot, report_accounts
from penstock.runtime.flows.change_target import with_merged
from penstock.runtime.flows.retry import Stopped
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.storage_state.state import once_transaction
from penstock.spark.failures.translate import translate_failure
from penstock.spark.streams.progress import refresh_progress
from penstock.spark.writers.changes.snapshots import SnapshotWriter, version_type
from penstock.storage import Storage
from penstock.storage.delta.table import open_delta_table


@dataclass(frozen=True, slots=True)
class SnapshotVersions:
    """A folder with one small file for each snapshot: its number among the flow's snapshots, and its version.

    The file is written before the table; whether the table has the snapshot is known from the table's own
    transactions. So the version of a snapshot that was interrupted is simply written again.
    """

    storage: Storage
    folder: str

    def write(self, number: int, version: Any) -> None:
        """Notes the version of the snapshot that is going to be applied."""
        self.storage.write_text_atomic(f"{self.folder}/{number}.json", json.dumps(_encode(version)))

    def read(self, number: int) -> Any:
        """Returns the version of an applied snapshot, of the type that it had."""
        return _decode(json.loads(self.storage.read_text(f"{self.folder}/{number}.json")))


def _encode(version: Any) -> dict[str, Any]:
    match version:
        case datetime():
            return {"timestamp": version.isoformat()}
        case date():
            return {"date": version.isoformat()}
        case decimal.Decimal():
            return {"decimal": str(version)}
        case bytes():
            return {"bytes": version.hex()}
        case _:
            return {"value": version}


def _decode(document: dict[str, Any]) -> Any:
    [(kind, value)] = document.items()
    match kind:
        case "timestamp":
            return datetime.fromisoformat(value)
        case "date":
            return date.fromisoformat(value)
        case "decimal":
            return decimal.Decimal(value)
        case "bytes":
            return bytes.fromhex(value)
        case _:
            return value


class SnapshotFlow:
    """Runs one `RunSnapshotFlow` stage; in a continuous update again and again."""

    def __init__(self, stage: RunSnapshotFlow, services: FlowServices) -> None:
        assert isinstance(stage.flow.declaration, SnapshotChangeFlow)
        self._stage = stage
        self._flow = stage.flow
        self._declared = stage.flow.declaration
        self._services = services
        name = self._declared.name
        self._app_id = once_transaction(services.pipeline, stage.dataset, name, stage.generation)
        folder = services.layout.snapshots(stage.dataset, name, stage.generation)
        self._versions = SnapshotVersions(Storage(services.layout.uri), folder)

    def run(self) -> None:
        """Blocks until every snapshot that is there was applied.

        Raises:
            PenstockError: it failed for good; the snapshots so far stay applied.
            Stopped: the update was asked to stop; the current snapshot was applied.
        """
        self._services.with_retries(self._flow, self._run_once)

    def _run_once(self) -> None:
        try:
            self._services.reporter.flow(self._flow, FlowStatus.RUNNING)
            self._take_all()
        except Exception as error:
            raise translate_failure(error, dataset=str(self._stage.dataset), flow=self._declared.name) from error

    def _take_all(self) -> None:
        following = self._declared.next_snapshot
        number = self._taken()
        latest = None if number < 0 else self._versions.read(number)
        if following is None:
            now = datetime.now(UTC)
            version = now if latest is None else max(now, latest + timedelta(microseconds=1))
            self._take(self._declared.function, version, number + 1)
            return
        while (found := self._next(following, latest)) is not None:
            snapshot, version = found
            self._check_version(version, latest)
            number += 1
            self._take(lambda snapshot=snapshot: snapshot, version, number)  # type: ignore[misc]
            latest = version

    def _taken(self) -> int:
        """Returns the number of the newest snapshot that the table has; -1 for none."""
        taken = open_delta_table(self._stage.path).transaction_version(self._app_id)
        return -1 if taken is None else taken

    def _next(self, following: NextSnapshot, latest: Any) -> tuple[DataFrame, Any] | None:
        """Asks the user's function for the snapshot after `latest`; it may run jobs to find out."""
        if self._services.stop.is_set():
            raise Stopped
        answer: list[Any] = []

        def ask() -> DataFrame:
            found = following(latest)
            answer.append(found)
            return self._services.spark.range(0) if found is None else found[0]

        self._services.ask(self._flow, ask)
        found = answer[0]
        return None if found is None else (found[0], found[1])

    def _check_version(self, version: Any, latest: Any) -> None:
        """A version is of the target's type, and greater than the one before."""
        applied = self._flow.changes
        assert applied is not None
        kind = version_type(version)
        wrong = kind is None or (applied.scd_type == 2 and kind.simpleString() != applied.sequence_type)
        if wrong or (latest is not None and (type(version) is not type(latest) or not version > latest)):
            raise DataError(
                "SNAPSHOT_VERSION_NOT_GREATER",
                dataset=str(self._stage.dataset),
                flow=self._declared.name,
                version=repr(version),
                latest=repr(latest),
            )

    def _take(self, function: Callable[[], DataFrame], version: Any, number: int) -> None:
        services = self._services
        if services.stop.is_set():
            raise Stopped
        started = time.monotonic()
        query = services.query(self._flow, function)
        services.describe_jobs(self._flow)
        self._versions.write(number, version)
        assert query.checking is not None, "a table of change flows has a quarantine"
        changes = SnapshotWriter(self._declared, version, self._stage.path)
        checking = replace(query.checking, apply=lambda rows, transaction, _: changes.apply(rows, transaction))
        counters = checking.append(
            query.frame, query.observed, transaction=(self._app_id, number), conf=services.spark_conf(self._flow)
        )
        seconds = time.monotonic() - started
        progress = refresh_progress(counters, query.counted, batch_id=number, seconds=seconds)
        services.board.table(self._stage.dataset).committed()
        services.reporter.batch(self._flow, with_merged(progress, checking, number))
        report_accounts(accounts_of_snapshot(query, counters, batch_id=number), self._flow, services)
