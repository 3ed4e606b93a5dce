"""Keeps the rows that a flow drops because they come behind its watermark, in a table beside the flow's own.

Nothing is done until Spark counts such a row. Then what the batch has read is read again, beside the flow, by its query
up to the operator that has dropped it. The rows are appended under the batch's number, and their event
comes last: a process that dies before it finds at its next start that the batch is still open, and does it once more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.errors import PenstockError, first_line
from penstock.events import Event, FlowStatus, LateRows, batch_progress_of, flow_status_of, late_rows_of_event
from penstock.events.flows.facts import flow_key
from penstock.events.flows.progress import checkpointed_batch_of
from penstock.graph.companions import late_rows as names
from penstock.graph.elements import StreamingTable
from penstock.graph.schema.table_schema import Schema
from penstock.plan.companion_tables import late_table, late_table_properties
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.plan.state import DATASET_TYPE
from penstock.runtime.flows.services import FlowServices
from penstock.spark.delta.tables import create_table
from penstock.spark.failures.translate import translate_failure
from penstock.spark.late.late_rows import LateRowsWriter, late_rows
from penstock.spark.plans.watermarks import LateRowsUnknown
from penstock.spark.sources.spark_sources import only_reading
from penstock.spark.streams.writes import start_batch_in_flight
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile
from penstock.storage.checkpoint.one_batch import copy_reads_of
from penstock.storage.delta.table import is_delta_table, table_properties
from penstock.storage.scratch import scratch_folder

_UNREPORTED_BATCHES = 20
"""More batches than Spark finishes before a killed process is gone that has not reported the first one yet."""
_LIVED_ON = {FlowStatus.COMPLETED, FlowStatus.STOPPED, FlowStatus.RETRYING}


def open_batches(
    events: Sequence[Event], flow: tuple[str, str], query_id: str, finished: Iterable[int]
) -> dict[int, int | None]:
    """Returns the batches to look at, the oldest first, each with the late rows that Spark counted, None if unknown.

    `events` are the newest of the log, `flow` the full name of its target and its name, `finished` the batches of the
    checkpoint that are done. Late rows are kept in the order of batches, each batch with an event, so nothing before
    the newest such event is open. A process that was killed while the flow was running may not have reported its last
    batches, nor has one that outlived its JVM, where the flow has failed: these are open too.
    """
    counted: dict[int, int] = {}
    settled, newest, killed = -1, None, False
    for event in events:
        if flow_key(str(event.origin.dataset_name), str(event.origin.flow_name)) != flow_key(*flow):
            continue
        late = late_rows_of_event(event)
        if late is not None and late.query_id == query_id:
            settled = max(settled, late.batch_id)
        checkpointed = checkpointed_batch_of(event)
        progress = batch_progress_of(event)
        if progress is not None and checkpointed is not None and checkpointed.query_id == query_id:
            newest = progress.batch_id
            counted[progress.batch_id] = progress.late_rows or 0
        elif progress is None and (status := flow_status_of(event)) is not None:
            killed = status is FlowStatus.RUNNING or (killed and status not in _LIVED_ON)
    known = sorted(finished)
    silent = [] if not killed else [batch for batch in known if newest is None or batch > newest]
    if newest is None:
        silent = silent[-_UNREPORTED_BATCHES:]  # earlier ones have their events further back in the log
    found: dict[int, int | None] = {batch: late for batch, late in counted.items() if late and batch in known}
    found |= dict.fromkeys(silent)
    return {batch: found[batch] for batch in sorted(found) if batch > settled}


_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.5


@dataclass(slots=True)
class LateRowRecorder:
    """The late rows of one flow, from start to start of its query.

    `notice` is called from Spark's listener thread; the others by the thread that runs the flow. They raise a
    PenstockError for what passes, such as a storage that does not answer: the flow is tried again then, and catches up.
    Else a flow is not worse for late rows that cannot be kept, and an event says so.
    """

    _stage: RunStreamingFlow | RunSinkFlow
    _services: FlowServices
    _checkpoint: str
    _noticed: dict[int, int | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _query: DataFrame | None = None

    def notice(self, progress: Mapping[str, Any]) -> None:
        """Takes a batch down for `keep`, when Spark's `progress` of it counts late rows."""
        counted = sum(int(state["numRowsDroppedByWatermark"]) for state in progress["stateOperators"])
        if counted:
            with self._lock:
                self._noticed[int(progress["batchId"])] = counted

    def catch_up(self, newest_events: Callable[[], Sequence[Event]]) -> None:
        """Keeps what the last start of the query, or a process that died, has left; called before a start.

        `newest_events` gives the tail of the event log; it is called only when there may be something left.
        """
        self._query = None
        if not self._services.drops_late_rows(self._stage.flow) or not Storage(self._checkpoint).exists("commits"):
            return
        folder = CheckpointFolder.open_without_state(self._checkpoint)
        query_id = folder.known_query_id()
        if query_id is None:
            return
        try:
            inherited = folder.inherited_batch()
        except DamagedFile:
            inherited = None
        finished = [each for each in folder.numbers("commits") if inherited is None or each > inherited]
        flow = (str(self._stage.dataset), self._stage.flow.declaration.name)
        left = open_batches(newest_events(), flow, query_id, finished)
        with self._lock:
            self._noticed = left
        self.keep()

    def keep(self, *, until: float | None = None) -> None:
        """Writes the late rows of all batches that were taken down, the oldest first, and reports each batch.

        Of an update that was asked to stop, only those begun before `until`, by `time.monotonic`, and none without it;
        of one that was abandoned, none. The next start catches up with the rest.
        """
        while self._may_write(until) and (noticed := self._next()) is not None:
            self._services.reporter.late_rows(self._stage.flow, self._tried(*noticed))

    def _may_write(self, until: float | None) -> bool:
        if self._services.abandon.is_set():
            return False
        return not self._services.stop.is_set() or (until is not None and time.monotonic() < until)

    def _tried(self, batch: int, counted: int | None) -> LateRows:
        table = str(names.late_rows_of(self._stage.dataset))
        query_id = CheckpointFolder.open_without_state(self._checkpoint).known_query_id() or ""
        record = LateRows(query_id, batch, counted, None, table)
        for attempt in range(_ATTEMPTS):
            time.sleep(_PAUSE_SECONDS * attempt)
            try:
                written = self._write(record)
            except LateRowsUnknown as refusal:
                return replace(record, reason=str(refusal))
            except Exception as error:
                known = translate_failure(
                    error, dataset=str(self._stage.dataset), flow=self._stage.flow.declaration.name
                )
                if _passes(error, known):
                    raise known from error
                record = replace(record, reason=first_line(known))
                continue
            more = f"Spark has counted {counted:,}" if counted is not None and counted > written else None
            return replace(record, kept=written, reason=more)
        return record

    def _next(self) -> tuple[int, int | None] | None:
        with self._lock:
            if not self._noticed:
                return None
            batch = min(self._noticed)
            return batch, self._noticed.pop(batch)

    def _write(self, record: LateRows) -> int:
        folder, batch = CheckpointFolder.open_without_state(self._checkpoint), record.batch_id
        before = folder.planned_batch(batch - 1) if batch else None
        if before is not None and before.offsets == folder.planned_batch(batch).offsets:
            return 0
        watermark_ms = before.watermark_ms if before is not None else 0  # Spark begins with the year 1970
        if not isinstance(self._stage, RunStreamingFlow):
            raise LateRowsUnknown("a sink has no table beside it")
        path = names.late_rows_path(self._stage.path)
        self._check_name(path)
        transaction = (f"{record.query_id}/{record.table}", batch)
        writer = LateRowsWriter(path, transaction, lambda rows: self._create(path, rows))
        name = f"{self._stage.dataset.name}-late-{batch}"
        with scratch_folder(Storage(self._services.layout.uri), name, keep=False) as scratch:
            place = f"{scratch}/checkpoint"
            copy_reads_of(folder, batch, Storage(scratch), place)
            flow = self._stage.flow
            with self._services.configured(flow):
                rows = late_rows(self._read(), watermark_ms=watermark_ms, flow=flow.declaration.name, batch_id=batch)
                query = start_batch_in_flight(
                    rows, writer, query_name=f"late rows of {flow.declaration.name}", checkpoint=place
                )
            try:
                query.awaitTermination()
            except Exception as error:
                raise writer.failure or error from error
        return writer.written

    def _read(self) -> DataFrame:
        """The flow's query, made once for each start of the flow, of sources that it leaves as they are."""
        if self._query is None:
            self._query = (
                replace(self._services, source_options=only_reading)
                .query(self._stage.flow, checkpoint=self._checkpoint)
                .frame
            )
        return self._query

    def _check_name(self, path: str) -> None:
        table = names.late_rows_of(self._stage.dataset)
        graph = self._services.graph
        taken = table in graph.tables or table in graph.views
        if not taken and is_delta_table(path):
            taken = table_properties(path).get(DATASET_TYPE) != names.LATE_ROWS
        if taken:
            raise LateRowsUnknown(f"{table} is another table")

    def _create(self, path: str, rows: StructType) -> None:
        if is_delta_table(path):
            return
        assert isinstance(self._stage, RunStreamingFlow)
        owner = self._services.graph.tables[self._stage.dataset]
        assert isinstance(owner, StreamingTable)
        properties = late_table_properties(owner, None, self._stage.generation)
        schema = Schema(StructType([StructField(each.name, each.dataType) for each in rows]).json())
        create_table(self._services.spark, late_table(owner), path=path, schema=schema, properties=properties)


def _passes(error: BaseException, known: PenstockError) -> bool:
    """Whether it has to do with what a flow waits for: a service, a storage, a Spark that is gone."""
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return True
    return known.retryable and known.condition != "FLOW_FAILED"
