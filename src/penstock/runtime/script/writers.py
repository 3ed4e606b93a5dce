"""From a write that the rules have let through to Spark's query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.graph.elements import FormatSink, OutputMode, StreamingTable
from penstock.runtime.script.reads import ScriptReads
from penstock.runtime.script.stream_write import CHECKPOINT, StreamWrite
from penstock.runtime.script.writer_hooks import bypass_writer_hooks
from penstock.spark.expectations.observed import ObservedExpectations, count_output
from penstock.spark.sinks.batch_writer import BatchWriter, function_writer
from penstock.spark.sinks.formats import code_of, connector_writer
from penstock.spark.sinks.sink import SinkTarget
from penstock.spark.sinks.spark_sinks import sink_options
from penstock.spark.streams.writes import StreamWriter
from penstock.spark.writers.checking_writer import CheckingWriter
from penstock.spark.writers.update_writer import UpdateWriter

_UNCOUNTED = frozenset({"continuous", "realTime"})
"""Triggers whose batches are not over when their rows are written, so that none can be counted."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query ready to start; `frame` is what it runs, and `observed` says how to read the counters of a batch."""

    write: StreamWrite
    frame: DataFrame
    observed: tuple[ObservedExpectations, ...]
    writer: StreamWriter | None

    @property
    def checking(self) -> CheckingWriter | None:
        """The writer that merges, if one does."""
        return self.writer if isinstance(self.writer, CheckingWriter) else None

    @property
    def failure(self) -> BaseException | None:
        """What a batch that is written by Python failed with: Spark only keeps its text."""
        failed = self.writer.failure if isinstance(self.writer, BatchWriter | CheckingWriter) else None
        return None if failed is None else failed.cause

    def start(self) -> StreamingQuery:
        """Starts the query.

        Raises:
            PySparkException: what Spark says.
        """
        write = self.write
        with bypass_writer_hooks():
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
    write = replace(write, options=sink_options(write.options, reads.secret))
    if write.keys is not None and write.path is not None:
        checking = _merging(write)
        return Prepared(write, write.frame, (checking.observed,), checking)
    frame, observed = write.frame, tuple[ObservedExpectations, ...]()
    if not _UNCOUNTED & write.trigger.keys():
        frame, counted = count_output(frame, write.dataset)
        observed = (counted,)
    if write.function is None:
        foreign = write.per_row is None and write.table is None and code_of(write.format.casefold()) is not None
        return Prepared(write, frame, observed, connector_writer(_target(write, frame)) if foreign else None)
    return Prepared(write, frame, observed, function_writer(write.function, write.mode, lambda _spark: reads))


def _target(write: StreamWrite, frame: DataFrame) -> SinkTarget:
    options = {key: value for key, value in write.options.items() if key.casefold() != CHECKPOINT.casefold()}
    return SinkTarget(
        declared=FormatSink(
            identifier=write.dataset, location=write.location, format=write.format, options=write.options
        ),
        options=options if write.path is None else {**options, "path": write.path},
        rows=frame,
        mode="update" if write.mode == "update" else "append",
        flow=f"{write.dataset}/{write.name}",
        flow_name=write.name,
        checkpoint=write.checkpoint or "",
    )


def _merging(write: StreamWrite) -> CheckingWriter:
    assert write.keys is not None
    assert write.path is not None
    table = StreamingTable(identifier=write.dataset, location=write.location)
    merge = UpdateWriter(write.name, str(write.dataset), write.path, write.keys)
    return CheckingWriter(table, write.name, write.path, "", None, OutputMode.UPDATE, merge.apply)
