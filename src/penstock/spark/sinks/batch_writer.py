"""Hands the batches of a query to what takes them in Python: a connector, a function of the user's, several sinks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.graph.elements import BatchFunction
from penstock.spark import _jvm
from penstock.spark.reading.read_handler import ReadHandler, handling_reads
from penstock.spark.sinks.sink import BatchSink, SinkBatch
from penstock.spark.sinks.spark_sinks import SinkWriter
from penstock.spark.streams.writes import BatchFailure, sink_transaction_of
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder

_NOTE: Final = "penstock-sinks.json"

FUNCTION: Final = "the function of the sink"
"""Whose code it is, to a person."""

Reads = Callable[[SparkSession], ReadHandler]
"""Returns what answers the reads by name of a function, on a session."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of the sinks. `select` are its columns in SQL, None for all; `code` is as that of `BatchWriter`."""

    name: str
    batches: BatchSink
    select: str | None = None
    code: str | None = None


@dataclass(slots=True)
class WrittenSinks:
    """Which sinks have the batch that is being written: a note in the flow's checkpoint.

    It holds for a batch that was planned and not finished. Of another one, that a checkpoint was taken back to, it says
    nothing.
    """

    checkpoint: str
    _batch: SinkBatch | None = None
    _names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, checkpoint: str) -> WrittenSinks:
        """Reads the note at the start of a query."""
        storage, unfinished = Storage(checkpoint), CheckpointFolder.open_without_state(checkpoint).in_flight
        if unfinished is None or not storage.exists(_NOTE):
            return cls(checkpoint)
        noted = json.loads(storage.read_text(_NOTE))
        if noted["batch"] != unfinished:
            return cls(checkpoint)
        return cls(checkpoint, SinkBatch(noted["query"], noted["batch"]), noted["sinks"])

    def has(self, batch: SinkBatch, name: str) -> bool:
        """Whether a sink has the batch."""
        return batch == self._batch and name in self._names

    def add(self, batch: SinkBatch, name: str) -> None:
        """Notes that a sink has the batch."""
        if batch != self._batch:
            self._batch, self._names = batch, []
        self._names.append(name)
        note = {"query": batch.query, "batch": batch.number, "sinks": self._names}
        Storage(self.checkpoint).write_text_atomic(_NOTE, json.dumps(note))


class SeveralSinks:
    """Writes each batch to all of its sinks. `code` is that of the sink that is being written."""

    def __init__(self, members: tuple[Member, ...], written: WrittenSinks) -> None:
        self.code: str | None = None
        self._members = members
        self._written = written

    def write(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        """Writes a batch to those sinks that do not have it; returns how many rows the one with the fewest has taken.

        Raises:
            Exception: that of a sink; those before it are not written again with the same batch.
        """
        once = rows.localCheckpoint()  # the sources are read here, and not again, whatever a sink does with the rows
        try:
            return self._write_held(once, batch)
        finally:
            _jvm.release(once)

    def _write_held(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        counts: list[int] = []
        for member in self._members:
            if self._written.has(batch, member.name):
                continue
            self.code = member.code
            taken = member.batches.write(columns_of(rows, member.select), batch)
            self._written.add(batch, member.name)
            counts += [] if taken is None else [taken]
        return min(counts, default=None)


def columns_of(rows: DataFrame, select: str | None) -> DataFrame:
    """Returns rows with the columns that one of the sinks gets."""
    if select is None:
        return rows
    columns = select.replace("{", "{{").replace("}", "}}")
    return rows.sparkSession.sql(f"SELECT {columns} FROM {{rows}}", rows=rows)  # noqa: S608 - the author's own


@dataclass(frozen=True, slots=True)
class FormatBatches:
    """Batches for a format of Spark that is no streaming sink here; Delta knows each by its transaction."""

    name: str
    writer: SinkWriter

    def write(self, rows: DataFrame, batch: SinkBatch) -> None:
        """Appends the rows."""
        to = self.writer
        writer = rows.write.format(to.format).mode("append").options(**to.options)
        if to.format.strip().casefold() == "delta":
            transaction = f"{batch.query}/{self.name}"
            writer = writer.option("txnAppId", transaction).option("txnVersion", batch.number)
        if to.partition_columns:
            writer = writer.partitionBy(*to.partition_columns)
        if to.table is None:
            writer.save()
        else:
            writer.saveAsTable(to.table)


class BatchWriter:
    """The writer of one start of a query.

    `code` names to a person whose code takes the batches; None: Penstock's own. `failure` is why the query ended: Spark
    itself only keeps the text of a Python exception.
    """

    def __init__(self, batches: BatchSink, mode: str, *, code: str | None = None) -> None:
        self.failure: BatchFailure | None = None
        self._code = code
        self._batches = batches
        self._mode = mode
        self._written: dict[int, int | None] = {}

    @property
    def code(self) -> str | None:
        """Whose code takes the batches; of several sinks that of the one that is being written."""
        return self._batches.code if isinstance(self._batches, SeveralSinks) else self._code

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode(self._mode).foreachBatch(self._write).start()

    def rows_written(self, batch_id: int) -> int | None:
        """Returns how many rows of a batch the sink has taken; None when it did not say."""
        return self._written.get(batch_id)

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self._written[batch_id] = self._batches.write(rows, SinkBatch(sink_transaction_of(rows), batch_id))
        except BaseException as error:
            self.failure = BatchFailure(batch_id, error)
            # A SystemExit would end the thread that Spark waits for, and Spark would wait for ever.
            raise RuntimeError(f"the sink did not take batch {batch_id}") from error


@dataclass(frozen=True, slots=True)
class FunctionBatches:
    """Calls a sink's function with each batch.

    The rows are cached while it runs: it may use them several times, but the sources are read once, and each row is
    counted once.
    """

    function: BatchFunction
    reads: Reads

    def write(self, rows: DataFrame, batch: SinkBatch) -> None:
        """Calls the function; what it raises is its user's matter. It may write some of the rows, or all of them twice.

        Raises:
            BaseException: the function's.
        """
        cached = rows.persist()
        try:
            with handling_reads(self.reads(rows.sparkSession)):
                self.function(cached, batch.number)
        finally:
            cached.unpersist()


def function_writer(function: BatchFunction, mode: str, reads: Reads) -> BatchWriter:
    """Returns the writer of one start of a query into a function."""
    return BatchWriter(FunctionBatches(function, reads), mode, code=FUNCTION)
