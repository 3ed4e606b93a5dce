"""What a query has done before, as its checkpoint and its target show it, wherever Spark reaches them."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from penstock.spark import _jvm


def has_planned_batches(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a query has planned a batch with this checkpoint."""
    return _jvm.path_exists(spark, f"{checkpoint.rstrip('/')}/offsets")


def newest_batch_in_table(spark: SparkSession, path: str, query_id: str) -> int | None:
    """Returns the newest batch that Delta's sink has committed to the table at `path` for a query; None without one."""
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    known = _jvm.table_snapshot(spark.read.format("delta").load(path)).transactions().get(query_id)
    return int(known.get()) if known.isDefined() else None


def holds_batches_of_another_query(spark: SparkSession, path: str) -> bool:
    """Whether a folder has the log of Spark's file sink, in which a batch's number alone says that it was written."""
    return _jvm.path_exists(spark, f"{path.rstrip('/')}/_spark_metadata")
