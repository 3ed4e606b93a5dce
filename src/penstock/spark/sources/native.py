"""Spark's own streaming reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

NAMED_SOURCES: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""Spark's setting under which each source of a query has a name; without it none may have one."""


def native_load(
    spark: SparkSession,
    source_format: str,
    options: Mapping[str, str],
    schema: StructType | str | None,
    path: str | None,
    *,
    source_name: str | None,
) -> DataFrame:
    """Returns Spark's own streaming read, under a source name where there is one and the checkpoints keep names.

    Called while no read handler is in force (`bypass_hooks()`), so that the hooks let it pass.

    Raises:
        pyspark.errors.AnalysisException: Spark's, for example PATH_NOT_FOUND.
    """
    reader = spark.readStream.format(source_format).options(**options)
    if source_name is not None and spark.conf.get(NAMED_SOURCES) == "true":
        reader = reader.name(source_name)
    if schema is not None:
        reader = reader.schema(schema)
    return reader.load() if path is None else reader.load(path)
