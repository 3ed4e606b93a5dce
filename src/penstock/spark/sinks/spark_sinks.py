"""How formats are written that Spark and Delta have a sink of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import StateError
from penstock.spark.delta.conform import TableColumns
from penstock.spark.sinks.sink import BatchSink, Promise, SinkTarget
from penstock.spark.sources.auto_loader.options.names import READERS
from penstock.spark.sources.option import Secret, plain_options, secret_options
from penstock.spark.streams.earlier_batches import holds_batches_of_another_query
from penstock.spark.streams.writes import StreamWriter
from penstock.storage import Storage


@dataclass(frozen=True, slots=True)
class SinkWriter:
    """Writes to a format with the user's options, or to the `table` of Spark's catalog, by `partition_columns`.

    What is guaranteed is the format's matter: Delta and files take each batch once, Kafka at least once.
    """

    format: str
    options: Mapping[str, str] = field(repr=False)
    mode: str
    table: str | None = None
    partition_columns: tuple[str, ...] = ()

    def aligned(self, frame: DataFrame) -> DataFrame:
        """Returns the query's rows in names and types of the table, if the sink is a Delta table that is there."""
        if self.format.casefold() != "delta":
            return frame
        path = next((value for key, value in self.options.items() if key.casefold() == "path"), None)
        return TableColumns(path, self.table).align(frame)

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        writer = writer.format(self.format).options(**self.options).outputMode(self.mode)
        if self.partition_columns:
            writer = writer.partitionBy(*self.partition_columns)
        return writer.start() if self.table is None else writer.toTable(self.table)


def sink_options(options: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """Returns a sink's options as Spark is to get them, secrets filled in: never show or log the result.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    return plain_options({**options, **secret_options(options, secret)})


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


def _without(options: Mapping[str, str], *names: str) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.casefold() not in names}
