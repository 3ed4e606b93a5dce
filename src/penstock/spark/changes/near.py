"""Which rows of a table have a key of a batch, nearly: a condition that costs no join."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph.sql_names import quoted
from penstock.spark import _jvm
from penstock.spark.changes.current import has_types
from penstock.spark.quick_append import is_plain


def near_keys(keys: DataFrame, count: int, *, path: str) -> Column | None:
    """Returns a condition over a table's rows, as `t`: TRUE for all with one of the keys, and for few others.

    `keys` are `count` rows with the key columns only. None where equal keys can have different hashes: their types
    differ in the table, or are not plain. None also without a key, because a filter of nothing cannot be built.
    """
    spark = keys.sparkSession
    target = spark.read.format("delta").load(path)
    if count == 0 or not keys.columns or not is_plain(keys.schema) or not has_types(target.schema, keys.schema):
        return None
    hashes = keys.select(sf.xxhash64(*(sf.col(quoted(name)) for name in keys.columns)).alias("hash"))
    bloom = _jvm.bloom_filter(hashes, "hash", count)
    return _jvm.may_contain(spark, bloom, sf.xxhash64(*(sf.col(f"t.{quoted(name)}") for name in keys.columns)))
