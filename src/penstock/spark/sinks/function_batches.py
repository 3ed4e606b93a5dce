"""Batches for a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.graph.elements import BatchFunction
from penstock.spark.session.read_handler import ReadHandler, handling_reads
from penstock.spark.sinks.batch_writer import BatchWriter
from penstock.spark.sinks.sink import SinkBatch

FUNCTION: Final = "the function of the sink"
"""Whose code it is, to a person."""

Reads = Callable[[SparkSession], ReadHandler]
"""Returns what answers the reads by name of a function, on a session."""


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
