"""Text files in another encoding than UTF-8: Spark's text source gives their bytes as they are."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling

from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions

_TEXT = "value"


def decoded(text: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of Spark's text source with their column `value` in UTF-8; it keeps `_metadata`."""
    encoding = options.reader_option("encoding") or options.reader_option("charset")
    if encoding.casefold().replace("-", "") in {"", "utf8"}:
        return text
    mark = "\ufeff"
    bytes_decoded = f"decode(CAST({_TEXT} AS BINARY), {literal(encoding)})"
    return text.withColumn(_TEXT, F.expr(f"trim(LEADING {literal(mark)} FROM {bytes_decoded})"))
