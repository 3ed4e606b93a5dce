"""How formats are written that Spark and Delta have a sink of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import StateError
from penstock.spark.sinks.format_writer import SinkWriter
from penstock.spark.sinks.sink import BatchSink, Promise, SinkTarget
from penstock.spark.sources.auto_loader.option_names import READERS
from penstock.spark.streams.earlier_batches import holds_batches_of_another_query
from penstock.spark.streams.writes import StreamWriter
from penstock.storage import Storage


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
