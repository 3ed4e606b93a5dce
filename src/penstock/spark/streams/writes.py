"""How a flow's rows reach its table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.config.values.trigger import Trigger, TriggerKind
from penstock.graph.elements import EMPTY
from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import KNOWN_TRANSACTIONS
from penstock.spark.accelerators.known_transactions import FORGET
from penstock.spark.accelerators.own_classes import DELTA_SINK
from penstock.spark.delta.conform import TableColumns
from penstock.spark.delta.tables import cluster_table
from penstock.spark.expectations.observed import ObservedExpectations
from penstock.spark.session.query_settings import query_settings
from penstock.spark.streams.earlier_batches import repair_offset_log
from penstock.storage.checkpoint.partitions import SHUFFLE_PARTITIONS

_METRICS_SECONDS = 5.0
_REAL_TIME_BATCH = "5 minutes"

EMPTY_COMMITS = {"spark.databricks.delta.skipRecordingEmptyCommits": "false"}
"""Settings under which a commit without rows is written, because its note matters: else Delta leaves it out."""


class StreamWriter(Protocol):
    """How the batches of a streaming query reach their target."""

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query; name, checkpoint and trigger are set already."""


@dataclass(frozen=True, slots=True)
class DeltaWriter:
    """Appends to (or, complete, rewrites) the Delta table at `path`, through Delta's own streaming sink.

    Each commit carries the query's id and the batch's id, so a batch that was committed before a
    crash is not written again. New columns are added to the table. Between two batches the sink is given the
    transactions of its table; see `penstock.spark.accelerators.known_transactions`.
    """

    path: str
    complete: bool

    def aligned(self, frame: DataFrame) -> DataFrame:
        """Returns the query's rows in names and types of the table: see `penstock.spark.delta.conform`."""
        return TableColumns(self.path).align(frame)

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        has_own_sink = _jvm.has_format(writer._spark, DELTA_SINK)  # not in a session made elsewhere
        writer = writer.format(DELTA_SINK if has_own_sink else "delta").option("mergeSchema", "true")
        if has_own_sink and not KNOWN_TRANSACTIONS.applies():
            writer = writer.option(FORGET, "true")
        return writer.outputMode("complete" if self.complete else "append").start(self.path)


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """What a batch of `foreachBatch` failed with; Spark itself only keeps the text of a Python exception."""

    batch_id: int
    cause: BaseException


def transaction_of(rows: DataFrame, target: str) -> str:
    """Returns the Delta transaction id for what the running batch writes to `target`.

    It holds the query's id, which lives and dies with the checkpoint: with a constant id, the rows
    after a lost checkpoint would be taken for repetitions, and dropped.
    """
    return f"{sink_transaction_of(rows)}/{target}"


def sink_transaction_of(rows: DataFrame) -> str:
    """Returns the Delta transaction id that Delta's own streaming sink would use for the running batch.

    For a flow's one and only write to its table, so that the flow may change between `DeltaWriter` and a
    writer of `foreachBatch`: a batch that one of them committed just before a crash is not repeated by the other.
    """
    query_id = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    assert query_id, "called outside of a streaming batch"
    return str(query_id)


def start_stream(
    frame: DataFrame,
    writer: StreamWriter,
    *,
    query_name: str,
    checkpoint: str,
    trigger: Trigger | None,
    partitions: int | None = None,
) -> StreamingQuery:
    """Starts the query that runs `frame` into what `writer` stands for.

    `trigger` None starts each batch when the last one ended. `partitions` are those of the state that is there: with
    another number Spark would look for rows of the state where they are not, and find nothing.
    """
    with _for_state_of(checkpoint, frame, partitions):
        return writer.start(_triggered(_stream(frame, query_name, checkpoint), trigger))


def start_batch_in_flight(
    frame: DataFrame, writer: StreamWriter, *, query_name: str, checkpoint: str, partitions: int | None = None
) -> StreamingQuery:
    """Starts a query for the batch that a checkpoint has planned and not finished, and no other; see `start_stream`.

    Spark calls this trigger deprecated, because it knows no limits for a batch that it has to plan.
    """
    with _for_state_of(checkpoint, frame, partitions):
        return writer.start(_stream(frame, query_name, checkpoint).trigger(once=True))


@contextmanager
def _for_state_of(checkpoint: str, frame: DataFrame, partitions: int | None) -> Iterator[None]:
    pinned = {} if partitions is None else {SHUFFLE_PARTITIONS: str(partitions)}
    with query_settings(frame.sparkSession, pinned):
        repair_offset_log(checkpoint, int(frame.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 0))
        yield


def _stream(frame: DataFrame, query_name: str, checkpoint: str) -> DataStreamWriter:
    return frame.writeStream.queryName(query_name).option("checkpointLocation", checkpoint)


def _triggered(stream: DataStreamWriter, trigger: Trigger | None) -> DataStreamWriter:
    match trigger:
        case Trigger(kind=TriggerKind.AVAILABLE_NOW | TriggerKind.ONCE):
            stream = stream.trigger(availableNow=True)
        case Trigger(kind=TriggerKind.PROCESSING_TIME, interval=str(interval)):
            stream = stream.trigger(processingTime=interval)
        case Trigger(kind=TriggerKind.REAL_TIME, interval=interval):
            # PySpark's overloads do not know it yet.
            stream = stream.trigger(realTime=interval or _REAL_TIME_BATCH)  # type: ignore[call-overload]
        case _:
            pass
    return stream


@dataclass(frozen=True, slots=True)
class Replacement:
    """How the rows of a table are replaced.

    `note` is kept as the commit's user metadata. With `keeps_schema` the rows must fit the table's columns,
    and what Delta enforces and computes there stays; without it they bring their own columns. `cluster_by` are the
    columns by which the table is clustered.
    """

    partition_columns: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    note: str = ""
    keeps_schema: bool = False


def replace_rows(
    frame: DataFrame,
    observed: Sequence[ObservedExpectations],
    *,
    path: str,
    replacement: Replacement,
    conf: Mapping[str, str],
) -> dict[str, Mapping[str, int]]:
    """Replaces a table's rows by `frame`, in one commit; readers see the old rows or the new.

    Returns the observed counters by metric name.
    """
    frame, observations = on_own_session(frame, observed, conf)
    replace_table(frame, path, replacement)
    return await_counters(observations)


def append_rows(
    frame: DataFrame,
    observed: Sequence[ObservedExpectations],
    *,
    path: str,
    transaction: tuple[str, int],
    conf: Mapping[str, str],
) -> dict[str, Mapping[str, int]]:
    """Appends `frame` once: a second call with the same `transaction` (app id, version) does nothing.

    Returns the observed counters by metric name.
    """
    frame, observations = on_own_session(TableColumns(path).align(frame), observed, conf)
    append_to_table(frame, path, transaction)
    return await_counters(observations)


def replace_table(rows: DataFrame, path: str, replacement: Replacement) -> None:
    """Replaces the rows of the table at `path`, in one commit; that of its clustering, if it has one, comes behind."""
    writer = rows.write.format("delta").mode("overwrite").option("userMetadata", replacement.note)
    writer = writer.option("overwriteSchema", str(not replacement.keeps_schema).lower())
    # A table that keeps its schema keeps its partitions; one of its columns may be computed by Delta.
    columns = () if replacement.keeps_schema else replacement.partition_columns
    (writer.partitionBy(*columns) if columns else writer).save(path)
    if replacement.cluster_by:  # Delta forgets it with the rows, whatever a writer says
        cluster_table(rows.sparkSession, path, replacement.cluster_by)


def append_to_table(
    rows: DataFrame,
    path: str,
    transaction: tuple[str, int],
    *,
    mode: str = "append",
    properties: Mapping[str, str] = EMPTY,
) -> None:
    """Writes once per `transaction` (app id, version); new columns are added. `mode` can be `overwrite`.

    `properties` are those of a table that this write creates.
    """
    app_id, version = transaction
    writer = rows.write.format("delta").mode(mode).option("mergeSchema", "true").options(**properties)
    writer.option("txnAppId", app_id).option("txnVersion", version).save(path)


def on_own_session(
    frame: DataFrame, observed: Sequence[ObservedExpectations], conf: Mapping[str, str]
) -> tuple[DataFrame, dict[str, object]]:
    """Binds a batch query to a session of its own, whose settings and counters no other flow shares.

    Returns the query and what `await_counters` needs when it was written.
    """
    own = _jvm.frame_of(_jvm.cloned_session(frame.sparkSession, conf), _jvm.analyzed_plan(frame))
    return own, {each.metric: _jvm.observation(own, each.metric, each.dataset_id) for each in observed}


def await_counters(observations: Mapping[str, object]) -> dict[str, Mapping[str, int]]:
    """Returns the observed counters by metric name.

    Spark reports them a moment after the write; a write without a job never does.
    """
    deadline = time.monotonic() + _METRICS_SECONDS
    counters: dict[str, Mapping[str, int]] = {}
    for name, observation in observations.items():
        while (values := _jvm.observed_values(observation)) is None and time.monotonic() < deadline:
            time.sleep(0.02)
        counters[name] = values or {}
    return counters


@dataclass(frozen=True, slots=True)
class RecomputeBatch:
    """The writer of a query that runs the unfinished `batch` and ends.

    A sink that holds the batch leaves it out before a row is read, and then the query never learns how far the rows
    move its watermark. Here they are read, and reach nothing. The next batch is planned and left unfinished, which
    ends the query with an error: it is for the flow's own writer.
    """

    batch: int

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode("append").foreachBatch(self._compute).start()

    def _compute(self, rows: DataFrame, batch_id: int) -> None:
        if batch_id != self.batch:
            raise RuntimeError(f"batch {batch_id} is for the flow's own writer")
        rows.write.format("noop").mode("overwrite").save()
