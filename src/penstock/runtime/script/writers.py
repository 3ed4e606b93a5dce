"""From a write that the rules have let through to Spark's query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.graph.elements import FunctionSink, OutputMode, StreamingTable
from penstock.runtime.script.reads import ScriptReads
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.script.writer_hooks import penstocks_own
from penstock.spark.checking_writer import CheckingWriter
from penstock.spark.expectations import ObservedExpectations, count_output
from penstock.spark.function_sink import FunctionWriter
from penstock.spark.sinks import sink_options
from penstock.spark.update_writer import UpdateWriter

_UNCOUNTED = frozenset({"continuous", "realTime"})
"""Triggers whose batches are not over when their rows are written, so that none can be counted."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready to start; `frame` is what it runs, and `observed` tells how to read the counters of a batch."""

    write: StreamWrite
    frame: DataFrame
    observed: tuple[ObservedExpectations, ...]
    writer: FunctionWriter | CheckingWriter | None

    @property
    def checking(self) -> CheckingWriter | None:
        """The writer that merges, if one does."""
        return self.writer if isinstance(self.writer, CheckingWriter) else None

    @property
    def failure(self) -> BaseException | None:
        """What a batch that is written by Python failed with: Spark only keeps its text."""
        failed = None if self.writer is None else self.writer.failure
        return None if failed is None else failed.cause

    def start(self) -> StreamingQuery:
        """Starts the query.

        Raises:
            PySparkException: what Spark says.
        """
        write = self.write
        with penstocks_own():
            stream = self.frame.writeStream.queryName(write.name).outputMode(write.mode).options(**write.options)
            if write.trigger:
                stream = stream.trigger(**write.trigger)
            if self.writer is not None:
                return self.writer.start(stream)
            if write.per_row is not None:
                return stream.foreach(write.per_row).start()
            stream = stream.format(write.format)
            if write.partition_columns:
                stream = stream.partitionBy(*write.partition_columns)
            if write.cluster_columns:
                stream = stream.clusterBy(*write.cluster_columns)
            return stream.start(write.path) if write.table is None else stream.toTable(write.table)


def prepared(write: StreamWrite, reads: ScriptReads) -> Prepared:
    """Returns how `write` is run: its rows counted, and batches that Python writes in hands of Penstock.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    write = replace(write, options=sink_options(write.format, write.options, reads.secret))
    if write.keys is not None and write.path is not None:
        checking = _merging(write)
        return Prepared(write, write.frame, (checking.observed,), checking)
    frame, observed = write.frame, tuple[ObservedExpectations, ...]()
    if not _UNCOUNTED & write.trigger.keys():
        frame, counted = count_output(frame, write.dataset)
        observed = (counted,)
    if write.function is None:
        return Prepared(write, frame, observed, None)
    sink = FunctionSink(identifier=write.dataset, location=write.location, function=write.function)
    return Prepared(write, frame, observed, FunctionWriter(sink, write.mode, lambda _spark: reads))


def _merging(write: StreamWrite) -> CheckingWriter:
    assert write.keys is not None
    assert write.path is not None
    table = StreamingTable(identifier=write.dataset, location=write.location)
    merge = UpdateWriter(write.name, str(write.dataset), write.path, write.keys)
    return CheckingWriter(table, write.name, write.path, "", None, OutputMode.UPDATE, merge.apply)
