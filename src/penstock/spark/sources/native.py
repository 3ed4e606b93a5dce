"""Spark's own streaming reader, past Penstock's read hooks."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.spark.read_hooks import handling_reads


def native_load(
    spark: SparkSession,
    source_format: str,
    options: Mapping[str, str],
    schema: StructType | str | None,
    path: str | None,
    *,
    source_name: str,
) -> DataFrame:
    """Returns Spark's own streaming read, under a source name, whatever hooks are installed.

    Raises:
        pyspark.errors.AnalysisException: Spark's, for example PATH_NOT_FOUND.
    """
    with handling_reads(None):
        reader = spark.readStream.format(source_format).options(**options).name(source_name)
        if schema is not None:
            reader = reader.schema(schema)
        return reader.load() if path is None else reader.load(path)
