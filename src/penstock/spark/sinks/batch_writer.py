"""Hands the batches of a query to what takes them in Python: a connector, several sinks, a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.graph.elements import BatchFunction
from penstock.spark.session.read_handler import ReadHandler, handling_reads
from penstock.spark.sinks.several import SeveralSinks
from penstock.spark.sinks.sink import BatchSink, SinkBatch
from penstock.spark.streams.writes import BatchFailure, sink_transaction_of

FUNCTION: Final = "the function of the sink"
"""Whose code it is, to a person."""

Reads = Callable[[SparkSession], ReadHandler]
"""Returns what answers the reads by name of a function, on a session."""


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
