"""`modifiedAfter` and `modifiedBefore`: only files that were changed in a stretch of time are read.

Spark's stream of files refuses these options. The filter here names a metadata column, so Spark opens no other file.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionError
from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions

_MODIFIED: Final = "_metadata.file_modification_time"


def time_options(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the two options that were given, under the names that Spark's batch reader knows."""
    given = {"modifiedAfter": options.modified_after, "modifiedBefore": options.modified_before}
    return {name: value for name, value in given.items() if value is not None}


def check_times(spark: SparkSession, options: AutoLoaderOptions) -> None:
    """Checks the two timestamps; runs no job.

    Raises:
        DefinitionError: AUTO_LOADER_INVALID_OPTION.
    """
    for name, value in time_options(options).items():
        if spark.sql(f"SELECT try_cast({literal(value)} AS TIMESTAMP) IS NULL").head() == (True,):
            expected = "a timestamp such as 2026-01-31 08:00:00, without a zone in that of the session"
            raise DefinitionError("AUTO_LOADER_INVALID_OPTION", option=name, value=value, expected=expected)


def within_times(rows: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of the files that were modified in the time that `options` give."""
    if options.modified_after is not None:
        rows = rows.where(f"{_MODIFIED} > CAST({literal(options.modified_after)} AS TIMESTAMP)")
    if options.modified_before is not None:
        rows = rows.where(f"{_MODIFIED} < CAST({literal(options.modified_before)} AS TIMESTAMP)")
    return rows
