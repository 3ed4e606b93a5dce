"""Writes a stream to one of Spark's formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.spark.delta.conform import TableColumns
from penstock.spark.sources.option import plain_options
from penstock.spark.sources.secret_options import Secret, secret_options


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
