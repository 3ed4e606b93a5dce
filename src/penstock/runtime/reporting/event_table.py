"""The event log as a Delta table, where `event_log` of the pipeline file asks for one."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from typing import Any, Final, Self

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from penstock.config import PipelineConfig
from penstock.errors import ExternalError, first_line
from penstock.events import Event, EventLog, EventType, Level, UpdateState, builders, read_events
from penstock.events.background import BackgroundThread
from penstock.events.codec import columns_of
from penstock.events.dlt_columns import FRAME, ORIGIN, OWN_ERROR, dlt_row
from penstock.events.flows.facts import details_of
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout
from penstock.storage.delta.table import is_delta_table, open_delta_table

_SQL_TYPES: Final[Mapping[str, pa.DataType]] = {"STRING": pa.string(), "BIGINT": pa.int64()}


def _struct(fields: Mapping[str, str], **more: pa.DataType) -> pa.DataType:
    return pa.struct([*more.items(), *((name, _SQL_TYPES[kind]) for name, kind in fields.items())])


_EXCEPTION: Final[pa.DataType] = pa.struct(
    [("class_name", pa.string()), ("message", pa.string()), ("stack", pa.list_(_struct(FRAME)))]
)
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("id", pa.string()),
    ("sequence", pa.int64()),
    ("origin", _struct(ORIGIN)),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("message", pa.string()),
    ("level", pa.string()),
    ("maturity_level", pa.string()),
    ("error", _struct(OWN_ERROR, fatal=pa.bool_(), exceptions=pa.list_(_EXCEPTION))),
    ("details", pa.string()),
    ("event_type", pa.string()),
]
COLUMNS: Final = pa.schema(_COLUMNS)
"""Those of the view `event_log`."""

PUBLISHED: Final = "penstock.eventLogOf"
"""The table property that says of which pipeline a table has the event log."""

_AT_ONCE: Final = 5000
_MOST_WAITING: Final = 100_000
_FILES: Final = 100
_HOOK: Final = "event_log"


def event_table(config: PipelineConfig, log: EventLog) -> AbstractContextManager[object]:
    """Returns what is entered before the first event of a run and left after the last, to have them in the table."""
    if config.event_log is None:
        return nullcontext()
    return EventTable(config.storage, config.event_log, log, pipeline=config.name, redacted=config.redact)


class EventTable:
    """Appends the events of a log to a table, each once, every `interval` seconds and at the end of the run.

    The table knows the sequence up to which it has them, so that a run makes good what another one could not write,
    because it was killed or the table could not be reached. That is reported once, and ends no flow. The end of the run
    waits `close_seconds`, not longer.
    """

    def __init__(
        self,
        storage_uri: str,
        table: Identifier,
        log: EventLog,
        *,
        pipeline: str,
        redacted: Callable[[str], str] = str,
        interval: float = 60.0,
        close_seconds: float = 30.0,
    ) -> None:
        self._storage = storage_uri
        self._table = table
        self._log = log
        self._pipeline = pipeline
        self._redacted = redacted
        self._interval = interval
        self._close_seconds = close_seconds
        self._waiting: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._failing = False
        self._thread = BackgroundThread(self._publish, "event log table", log)

    def __enter__(self) -> Self:
        self._unsubscribe = self._log.subscribe(self._waiting.put)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Writes what waits; the log is still open."""
        self._unsubscribe()
        self._waiting.put(None)
        self._thread.join(self._close_seconds)

    def _publish(self) -> None:
        pending: list[Event] = []
        over, caught_up, may_create = False, False, False
        while not over:
            over = self._take(pending)
            may_create = may_create or any(map(_names_are_free, pending))
            try:
                table = self._open(may_create=may_create)
                first = next(read_events(self._storage), next(iter(pending), None))
                if table is None or first is None:
                    continue
                transaction = f"penstock/event_log/{first.id}"
                if not caught_up:
                    newest = _newest(table, transaction)
                    _append(table, read_events(self._storage, after_sequence=newest), transaction)
                    caught_up = True
                    _put_together(table)
                _append(table, pending, transaction)
                pending.clear()
                self._failing = False
            except (DeltaError, ExternalError, OSError, ValueError, pa.ArrowException) as error:
                self._report_failure(error)
                if len(pending) > _MOST_WAITING:
                    pending.clear()
                    caught_up = False  # they are read from the log

    def _take(self, pending: list[Event]) -> bool:
        """Adds what comes within the interval, but not more than one commit takes; returns whether the run is over."""
        until = time.monotonic() + self._interval
        new = 0
        while new < _AT_ONCE and (left := until - time.monotonic()) > 0:
            try:
                event = self._waiting.get(timeout=left)
            except queue.Empty:
                return False
            if event is None:
                return True
            pending.append(event)
            new += 1
        return False

    def _open(self, *, may_create: bool) -> DeltaTable | None:
        path = StorageLayout(self._storage).table(self._table)
        if not is_delta_table(path):
            if not may_create:
                return None
            return DeltaTable.create(
                path,
                COLUMNS,
                description=f"The event log of the pipeline {self._pipeline}",
                configuration={PUBLISHED: self._pipeline},
                raise_if_key_not_exists=False,
            )
        table = open_delta_table(path)
        if table.metadata().configuration.get(PUBLISHED) != self._pipeline:
            reason = "there is another table of that name"
            raise ExternalError("EVENT_LOG_NOT_PUBLISHED", table=str(self._table), reason=reason)
        if _has_former_columns(table):
            _rewrite(table)
        return table

    def _report_failure(self, failure: Exception) -> None:
        if self._failing:
            return
        self._failing = True
        error = failure
        if not isinstance(error, ExternalError):
            reason = self._redacted(first_line(failure))
            error = ExternalError("EVENT_LOG_NOT_PUBLISHED", table=str(self._table), reason=reason)
        built = builders.hook_progress(_HOOK, "FAILED", reason=error.message)
        with suppress(ValueError):  # the run has not waited for it and has closed the log
            self._log.append(EventType.HOOK_PROGRESS, *built, level=Level.WARN, error=error)


def _names_are_free(event: Event) -> bool:
    """Whether it says that the pipeline's own tables are known, and that none of them has the name."""
    state = details_of(event).get("state") if event.event_type is EventType.UPDATE_PROGRESS else None
    return state in {UpdateState.SETTING_UP_TABLES.value, UpdateState.RUNNING.value, UpdateState.COMPLETED.value}


def _newest(table: DeltaTable, transaction: str) -> int:
    """The sequence of the newest event of a log that the table has, -1 before the first.

    The id of the transaction is another one when the log was deleted and begun again.
    """
    version = table.transaction_version(transaction)
    return -1 if version is None else version


def _append(table: DeltaTable, events: Iterable[Event], transaction: str) -> None:
    """Appends those that the table does not have; its transaction then says up to which sequence it has them."""
    left = iter(events)
    while some := list(islice(left, _AT_ONCE)):
        table.update_incremental()
        done = _newest(table, transaction)
        rows = [_row(event) for event in some if event.sequence > done]
        if rows:
            written = Transaction(transaction, rows[-1]["sequence"])
            write_deltalake(
                table,
                pa.Table.from_pylist(rows, COLUMNS),
                mode="append",
                commit_properties=CommitProperties(app_transactions=[written]),
            )


def _put_together(table: DeltaTable) -> None:
    """Makes one file of those that the runs before have written, and deletes those that no reader needs any more."""
    if len(table.file_uris()) >= _FILES:
        table.optimize.compact()
        table.vacuum(dry_run=False)


def _has_former_columns(table: DeltaTable) -> bool:
    """Whether an earlier version wrote it: `error` is the JSON text of a line, and `origin` has no more than a line."""
    return any(field.name == "error" and isinstance(field.type, PrimitiveType) for field in table.schema().fields)


def _rewrite(table: DeltaTable) -> None:
    """Gives a table the columns of today, in one commit; what it was stays a version of it."""
    rows = (
        dlt_row(row, error=None if row["error"] is None else json.loads(row["error"]))
        for batch in table.to_pyarrow_dataset().to_batches(batch_size=_AT_ONCE)
        for row in batch.to_pylist()
    )
    batches = (pa.RecordBatch.from_pylist(some, COLUMNS) for some in iter(lambda: list(islice(rows, _AT_ONCE)), []))
    reader = pa.RecordBatchReader.from_batches(COLUMNS, batches)
    write_deltalake(table, reader, mode="overwrite", schema_mode="overwrite")


def _row(event: Event) -> dict[str, Any]:
    return dlt_row(columns_of(event), error=event.error)
