"""How Penstock's own formats are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import StateError
from penstock.graph.jdbc_target import JdbcTarget
from penstock.spark.jdbc import JdbcBatches, SinkPlace, prepare, with_defaults
from penstock.spark.sinks.format_writer import SinkWriter
from penstock.spark.sinks.sink import BatchSink, Promise, SinkTarget
from penstock.spark.sources.auto_loader.option_names import READERS
from penstock.spark.sources.kafka import KafkaEndpoint, check_access, plain_options
from penstock.spark.streams.earlier_batches import holds_batches_of_another_query
from penstock.spark.streams.writes import StreamWriter
from penstock.storage import Storage
from penstock.storage.checkpoint import CheckpointFolder


@dataclass(frozen=True, slots=True)
class SparkSink:
    """A format that Spark's session knows; its options were judged by the rules, or are its own matter."""

    options: None = None
    promise: Promise | None = None
    takes_updates: bool = True

    def open(self, target: SinkTarget) -> StreamWriter | BatchSink:
        """Returns the writer that leaves it to Spark."""
        return SinkWriter(target.declared.format, target.options, target.mode)


@dataclass(frozen=True, slots=True)
class KafkaSink(SparkSink):
    """Spark's own sink, checked for access before a flow starts."""

    promise: Promise | None = Promise.AT_LEAST_ONCE

    def open(self, target: SinkTarget) -> StreamWriter:
        """Asks the cluster; see `check_access`."""
        options = plain_options(target.options)
        check_access(target.spark, KafkaEndpoint.of(options, writes=True))
        return SinkWriter(target.declared.format, options, target.mode)


@dataclass(frozen=True, slots=True)
class FileSink(SparkSink):
    """Spark's own sink of files, whose log of batches is of one query."""

    promise: Promise | None = Promise.EXACTLY_ONCE
    takes_updates: bool = False

    def open(self, target: SinkTarget) -> StreamWriter:
        """Looks whether the folder is another query's.

        Raises:
            StateError: SINK_FOLDER_IN_USE.
        """
        declared, options = target.declared, _without(target.options, "partitionby")
        path = next((value for key, value in options.items() if key.casefold() == "path"), None)
        begins = path is not None and not Storage(target.checkpoint).exists("offsets")
        if begins and holds_batches_of_another_query(target.spark, str(path)):
            name = declared.identifier
            raise StateError("SINK_FOLDER_IN_USE", dataset=str(name), name=name, path=path)
        spark_format = READERS.get(declared.kind, declared.format)
        return SinkWriter(spark_format, options, target.mode, None, declared.partition_columns)


@dataclass(frozen=True, slots=True)
class DeltaSink(SparkSink):
    """Delta's own sink, which knows the batches of each query."""

    promise: Promise | None = Promise.EXACTLY_ONCE
    takes_updates: bool = False

    def open(self, target: SinkTarget) -> StreamWriter:
        """Finds the table: by path, in the storage by name, or in Spark's catalog."""
        declared, options = target.declared, _without(target.options, "tablename", "partitionby")
        table = declared.option("tableName")
        if table is not None and (path := target.table_path(table)) is not None:
            options, table = {**options, "path": path}, None
        return SinkWriter(declared.format, options, target.mode, table, declared.partition_columns)


@dataclass(frozen=True, slots=True)
class JdbcSink(SparkSink):
    """Tables of PostgreSQL, through a staging table and a ledger."""

    promise: Promise | None = Promise.EXACTLY_ONCE

    def open(self, target: SinkTarget) -> BatchSink:
        """Makes what is missing in the database; see `prepare`."""
        declared = target.declared
        prepared = prepare(
            target.rows,
            JdbcTarget.of(declared),
            with_defaults(target.options),
            flow=target.flow,
            checkpoint=CheckpointFolder.open_without_state(target.checkpoint),
            place=SinkPlace(str(declared.identifier), target.flow_name, declared.location),
        )
        return JdbcBatches(prepared)


def _without(options: Mapping[str, str], *names: str) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.casefold() not in names}
