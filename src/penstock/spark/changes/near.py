"""Which rows of a target have a key of a batch, nearly: a condition that costs no join."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.graph.sql_names import quoted
from penstock.spark import _jvm
from penstock.spark.changes.current import has_types
from penstock.spark.changes.resolve import ResolvedChanges
from penstock.spark.quick_append import is_plain


def near_keys(events: DataFrame, changes: ResolvedChanges, count: int, *, path: str) -> Column | None:
    """Returns a condition over the target's rows, as `t`: TRUE for all with a key of the events, and for few others.

    None where equal keys can have different hashes: their types differ in the target, or are not plain. None also for
    a batch without an event, because a filter of nothing cannot be built.
    """
    keys = StructType([field for field in changes.row if field.name in changes.keys])
    spark = events.sparkSession
    target = spark.read.format("delta").load(path)
    if count == 0 or not is_plain(keys) or not has_types(target.schema, keys):
        return None
    hashes = events.select(sf.xxhash64(*(sf.col("key").getField(name) for name in changes.keys)).alias("hash"))
    bloom = _jvm.bloom_filter(hashes, "hash", count)
    return _jvm.may_contain(spark, bloom, sf.xxhash64(*(sf.col(f"t.{quoted(name)}") for name in changes.keys)))
