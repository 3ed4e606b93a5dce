"""Writes a stream to one of Spark's formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import DefinitionError, did_you_mean
from penstock.graph.elements import FormatSink
from penstock.graph.jdbc_target import OWN_OPTIONS, SPARK_OPTIONS
from penstock.spark import _jvm
from penstock.spark.jdbc import unknown_options
from penstock.spark.sources.kafka import plain_options
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

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        writer = writer.format(self.format).options(**self.options).outputMode(self.mode)
        if self.partition_columns:
            writer = writer.partitionBy(*self.partition_columns)
        return writer.start() if self.table is None else writer.toTable(self.table)


def sink_options(sink_format: str, options: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """Returns a sink's options as Spark is to get them, secrets filled in: never show or log the result.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    filled = {**options, **secret_options(options, secret)}
    return plain_options(filled) if sink_format.strip().casefold() == "kafka" else filled


def check_sink_format(spark: SparkSession, sink: FormatSink) -> None:
    """Makes sure that Spark finds the sink's format, and the driver of a database its options.

    Raises:
        DefinitionError: SINK_FORMAT_UNKNOWN; SINK_OPTIONS_INVALID for an option that a driver does not know.
    """
    if sink.kind != "memory" and not _jvm.has_format(spark, sink.format):  # the rules refuse that one
        raise DefinitionError(
            "SINK_FORMAT_UNKNOWN",
            location=sink.location,
            dataset=str(sink.identifier),
            name=sink.identifier,
            format=sink.format,
        )
    if sink.kind == "jdbc":
        _check_jdbc_options(spark, sink)


def _check_jdbc_options(spark: SparkSession, sink: FormatSink) -> None:
    """Every option that is not Spark's or Penstock's goes to the driver, which says nothing of one that it ignores."""
    known = {name.casefold() for name in (*SPARK_OPTIONS, *OWN_OPTIONS)}
    if unknown := unknown_options(spark, [name for name in sink.options if name.casefold() not in known]):
        near = did_you_mean(unknown[0], (*SPARK_OPTIONS, *OWN_OPTIONS))
        raise DefinitionError(
            "SINK_OPTIONS_INVALID",
            location=sink.location,
            dataset=str(sink.identifier),
            name=sink.identifier,
            reason=f"neither Spark nor the driver of PostgreSQL has an option '{unknown[0]}'{near and f' ({near})'}",
            way_out="Correct or remove it",
        )
