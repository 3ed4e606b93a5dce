"""Writes a stream through a function of the user's."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.graph.elements import FunctionSink
from penstock.spark.read_hooks import ReadHandler, handling_reads
from penstock.spark.writes import BatchFailure


class FunctionWriter:
    """Hands each batch to a sink's function; of one start of its query.

    `reads(session)` answers what the function reads by name. The rows are cached while the function
    runs: it may use them several times, but the sources are read once, and each row is counted once.
    `failure` is why the query ended; Spark itself only keeps the text of a Python exception.
    """

    def __init__(self, sink: FunctionSink, mode: str, reads: Callable[[SparkSession], ReadHandler]) -> None:
        self._sink = sink
        self._mode = mode
        self._reads = reads
        self.failure: BatchFailure | None = None

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode(self._mode).foreachBatch(self._write).start()

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        cached = rows.persist()
        try:
            with handling_reads(self._reads(rows.sparkSession)):
                self._sink.function(cached, batch_id)
        except BaseException as error:
            self.failure = BatchFailure(batch_id, error)
            # A SystemExit would end the thread that Spark waits for, and Spark would wait for ever.
            raise RuntimeError(f"the function of the sink failed on batch {batch_id}") from error
        finally:
            cached.unpersist()
