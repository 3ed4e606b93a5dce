"""The queries that a script has started: how each begins, what is reported of it, and how it ends."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.declare.code.user_errors import one_line
from penstock.declare.user_frames import failure_location
from penstock.errors import DataError, PenstockError
from penstock.events import CheckpointedBatch, FlowStatus, read_events
from penstock.events.flows.records import FlowRecord, FlowRecords
from penstock.graph.identifier import Identifier
from penstock.runtime.flows.change_target import with_merged
from penstock.runtime.flows.stop_after_batch import deadline_of_batch, stop_after_batch
from penstock.runtime.script.reads import ScriptReads
from penstock.runtime.script.reports import ScriptReports
from penstock.runtime.script.rules import checked
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.script.tables import ScriptTables
from penstock.runtime.script.writers import Prepared, prepared
from penstock.spark.failures.translate import translate_failure
from penstock.spark.sources.auto_loader import describe_failure
from penstock.spark.streams.listener import ProgressListener
from penstock.spark.streams.progress import batch_progress
from penstock.storage import StorageLayout

_LISTENER_SECONDS = 10.0
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class ScriptStopped(BaseException):
    """A person asked the run to stop, and the script would start another query."""


@dataclass(slots=True)
class StartedQuery:
    """One query that runs or ran; `error` is why it failed."""

    write: StreamWrite
    prepared: Prepared
    query: StreamingQuery
    run_id: str
    ended: bool = False
    stopped: bool = False
    error: PenstockError | None = None


class ScriptQueries:
    """Starts the queries of one run of a script and follows them; a `Starting` for the rules. Thread-safe."""

    def __init__(
        self,
        script: str,
        directory: Path,
        *,
        spark: SparkSession,
        layout: StorageLayout,
        catalog: str | None,
        reads: ScriptReads,
        reports: ScriptReports,
        notice: Callable[[PenstockError], None],
        stop: threading.Event,
        stop_timeout: float,
    ) -> None:
        self.spark = spark
        self.layout = layout
        self.tables = ScriptTables(spark, layout, catalog)
        self.notice = notice
        self.started: list[StartedQuery] = []
        self._script = script
        self._directory = directory
        self._reads = reads
        self._reports = reports
        self._stop = stop
        self._stop_timeout = stop_timeout
        self._listener = ProgressListener()
        self._lock = threading.RLock()

    def attach(self) -> None:
        """Begins to listen to the session's queries, and finds the tables of earlier runs."""
        self._listener.attach(self.spark)
        self.tables.register()

    def detach(self) -> None:
        """Ends that."""
        self._listener.detach(self.spark)

    def start(self, write: StreamWrite) -> StreamingQuery:
        """Starts a query of the script, after the rules have checked it.

        Raises:
            DefinitionError, StateError: what a rule says.
            PySparkException: what Spark says.
            ScriptStopped: the run was asked to stop.
        """
        if self._stop.is_set():
            raise ScriptStopped
        with self._lock:
            self.await_reports()  # a rule may ask what runs
            write = checked(self.tables.placed(self._named(write)), self)
            ready = prepared(write, self._reads)
            self._reports.definition(write)
            self._reports.status(write, FlowStatus.STARTING)
            self._listener.handle(
                write.name,
                lambda progress: self._on_progress(write, ready, progress),
                idle=None if write.ends else lambda: self._reports.status(write, FlowStatus.IDLE),
            )
            try:
                self.tables.create(write)
                query = ready.start()
            except Exception:
                self._reports.status(write, FlowStatus.FAILED)
                raise
            self.started.append(StartedQuery(write, ready, query, str(query.runId)))
            self._reports.status(write, FlowStatus.RUNNING)
            return query

    def earlier(self) -> Sequence[tuple[StreamWrite, bool]]:
        """See `Starting`."""
        return [(each.write, not each.ended) for each in self.started]

    def record(self, write: StreamWrite) -> FlowRecord:
        """See `Starting`."""
        return self._records.of(write.dataset, write.name)

    @property
    def running(self) -> list[StartedQuery]:
        """The queries that have not ended, as far as is known."""
        with self._lock:
            return [each for each in self.started if not each.ended]

    @property
    def errors(self) -> tuple[PenstockError, ...]:
        """Why queries failed; not those that the script has started again with success."""
        last = {each.write.name: each for each in self.started}
        return tuple(each.error for each in last.values() if each.error is not None)

    def look(self) -> None:
        """Takes note of the queries that have ended since the last look; raises what `ProgressListener.check` does."""
        self._listener.check()
        for each in self.running:
            if self._listener.await_end(each.run_id, 0):
                self._end(each)

    def stop_all(self, abandon: threading.Event) -> None:
        """Stops each query after its current batch, and waits until all that they have to report is reported."""
        self.await_reports()  # of those that have ended by themselves
        deadline = deadline_of_batch(self._stop_timeout)
        for each in self.running:
            each.stopped = True
            with suppress(Py4JError, OSError):
                stop_after_batch(each.query, abandon=abandon, deadline=deadline)
        self.await_reports()

    def await_reports(self) -> None:
        """Waits for what Spark has still to report of queries that it says have ended."""
        for each in self.running:
            with suppress(Py4JError, OSError):
                if each.query.isActive:
                    continue
            self._listener.await_end(each.run_id, _LISTENER_SECONDS)
            self._end(each)

    def _named(self, write: StreamWrite) -> StreamWrite:
        """Gives a name to a query that has none: by what it fills, the same with each run."""
        if write.path is not None and not _URI.match(write.path):
            write = replace(write, path=os.path.abspath(write.path))  # whoever reads the log may be elsewhere
        name = write.name or self._free(_name_of(write), write)
        dataset = Identifier(self._script, name)
        if write.table is not None:
            dataset = self.tables.identifier(write.table)
        return replace(write, name=name, dataset=dataset)

    def _free(self, base: str, write: StreamWrite) -> str:
        taken = {each.write.name for each in self.started if not each.ended or each.write.location != write.location}
        return next(name for name in (base, *(f"{base}_{n}" for n in range(2, 10_000))) if name not in taken)

    def _on_progress(self, write: StreamWrite, ready: Prepared, progress: dict[str, Any]) -> None:
        if ready.checking is not None:
            counters = ready.checking.take_counters(int(progress["batchId"]))
            progress["observedMetrics"] = {**(progress.get("observedMetrics") or {}), **counters}
        batch = batch_progress(progress, ready.observed)
        batch = with_merged(batch, ready.checking, batch.batch_id)
        self._reports.batch(write, batch, CheckpointedBatch(str(progress["id"]), {}))

    def _end(self, ended: StartedQuery) -> None:
        with self._lock:  # until the error is known: whoever asks what runs asks for the errors next
            if ended.ended:
                return
            failure: BaseException | None = None
            with suppress(Py4JError, OSError):
                failure = ended.query.exception()
            if failure is not None:
                ended.error = self._error_of(ended, failure)
            ended.ended = True
            complete = ended.write.ends and not ended.stopped
            status = FlowStatus.COMPLETED if complete else FlowStatus.STOPPED
            self._reports.status(ended.write, FlowStatus.FAILED if ended.error else status, ended.error)

    def _error_of(self, ended: StartedQuery, failure: BaseException) -> PenstockError:
        write = ended.write
        raised = ended.prepared.failure
        cause = failure if raised is None else raised
        if (evolved := self._evolved(write, cause)) is not None:
            return evolved
        dataset = str(write.dataset)
        known = describe_failure(cause, dataset=dataset) or translate_failure(cause, dataset=dataset, flow=write.name)
        if raised is not None and known.condition == "FLOW_FAILED":
            error = type(raised).__name__
            known = DataError(
                "FOREACH_BATCH_FAILED", dataset=dataset, query=write.name, error=error, detail=one_line(raised)
            )
        where = None if raised is None else failure_location(raised.__traceback__, self._directory)
        known.location = known.location or where or write.location
        return known

    def _evolved(self, write: StreamWrite, failure: BaseException) -> PenstockError | None:
        """Files with new columns end a query, as on Databricks; the schema then knows them, for the next run."""
        for source in self._reads.auto_loader_sources:
            if write.checkpoint is None:
                continue
            evolution = source.evolve(self.spark, failure, checkpoint_location=write.checkpoint)
            if evolution is not None:
                return DataError(
                    "NEW_COLUMNS_FOUND",
                    location=write.location,
                    dataset=str(write.dataset),
                    query=write.name,
                    path=source.path,
                    what=evolution.message,
                )
        return None

    @cached_property
    def _records(self) -> FlowRecords:
        return FlowRecords(read_events(self.layout.uri))


def _name_of(write: StreamWrite) -> str:
    if write.table is not None:
        place = Identifier.parse(write.table, default_schema="default").name
    else:
        place = (write.path or write.option("topic") or write.format).rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_-]+", "_", place).strip("_") or write.format
