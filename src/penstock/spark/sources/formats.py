"""From the name of a format to what reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.errors import DefinitionError, did_you_mean
from penstock.spark.failures.causes import causes_of
from penstock.spark.sources.auto_loader import AutoLoader
from penstock.spark.sources.delta import TableSource
from penstock.spark.sources.installed import installed, installed_formats
from penstock.spark.sources.source import Source, SourceRead
from penstock.spark.sources.spark_sources import FILE_FORMATS, FileSource, SparkSource


class _LeftToSpark(SparkSource):
    """A format that its session may know."""

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the stream, if there is such a format.

        Raises:
            DefinitionError: SOURCE_FORMAT_UNKNOWN.
        """
        try:
            return super().stream(read)
        except (PySparkException, Py4JJavaError) as error:
            if all(cause.condition != "DATA_SOURCE_NOT_FOUND" for cause in causes_of(error)):
                raise
            suggestion = did_you_mean(read.format, known_formats())
            raise DefinitionError("SOURCE_FORMAT_UNKNOWN", format=read.format, suggestion=suggestion) from error


_OF_SPARK: Final = _LeftToSpark()

SOURCES: Final[Mapping[str, Source]] = {
    "cloudfiles": AutoLoader(),
    "delta": TableSource(),
    "rate": _OF_SPARK,
    "rate-micro-batch": _OF_SPARK,
    "socket": SparkSource(replayable=False),
    "statestore": _OF_SPARK,
    "table": TableSource(),
    **dict.fromkeys(FILE_FORMATS, FileSource()),
}
"""Formats that no connector is looked for."""


def source_of(source_format: str) -> Source:
    """Returns how a format is read; an unknown one is left to Spark, whose session may know it.

    Raises:
        ConfigError: CONNECTOR_UNUSABLE.
    """
    kind = source_format.strip().casefold()
    if kind in SOURCES:
        return SOURCES[kind]
    found = installed(kind)
    return _OF_SPARK if found is None or found.connector.source is None else found.connector.source


def batch_source_of(source_format: str) -> Source | None:
    """Returns how a format is read as a batch that Spark has no reader of; None for those of Spark's.

    Raises:
        ConfigError: CONNECTOR_UNUSABLE.
    """
    kind = source_format.strip().casefold()
    if kind in SOURCES:
        return SOURCES[kind] if kind == "cloudfiles" else None
    found = installed(kind)
    return None if found is None or found.connector.batches_by_spark else found.connector.source


def known_formats() -> tuple[str, ...]:
    """Returns the formats that can be read, as far as Penstock knows."""
    return (*sorted({*SOURCES} - {"table", "cloudfiles"}), "cloudFiles", *installed_formats())
