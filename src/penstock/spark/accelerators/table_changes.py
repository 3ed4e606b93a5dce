"""Reads Delta tables at one version, and what changed between two, whether or not they have a change data feed.

Delta's reader of change data can also tell from files and deletion vectors which rows a commit added and removed. A
file that was rewritten by OPTIMIZE counts as unchanged there.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.spark import _jvm
from penstock.spark._jvm import jvm

_REMOVED = ("delete", "update_preimage")
_CHANGE = "_change_type"


def newest_snapshot(spark: SparkSession, index: Any) -> Any:
    """Returns Delta's newest `Snapshot` of the table of a `TahoeLogFileIndex`."""
    nothing = jvm(spark).scala.Option.empty()
    return index.deltaLog().update(False, nothing, nothing)


def size_of(snapshot: Any) -> int:
    """Returns the bytes of a table's data files, which its newest checksum has; else a job of Delta counts them."""
    checksum = snapshot.checksumOpt()
    return int(checksum.get().tableSizeBytes() if checksum.isDefined() else snapshot.sizeInBytes())


def at_snapshot(spark: SparkSession, relation: Any, snapshot: Any) -> Any:
    """Returns a `LogicalRelation` of a Delta table that reads one `Snapshot` of it, with the same attributes."""
    files, nothing = relation.relation(), jvm(spark).scala.Option.empty()
    index = files.location()
    pinned = _singleton(spark, "org.apache.spark.sql.delta.files.TahoeLogFileIndex").apply(
        _jvm.java_session(spark), index.deltaLog(), index.path(), snapshot, nothing, _jvm.to_seq(spark, ()), True
    )
    files = files.copy(
        pinned,
        files.partitionSchema(),
        files.dataSchema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        files.sparkSession(),
    )
    return relation.copy(files, relation.output(), relation.catalogTable(), relation.isStreaming(), relation.stream())


def changed_between(spark: SparkSession, index: Any, before: int, after: int, weight: str) -> DataFrame:
    """Returns the rows that were added (`weight` 1) and removed (-1) after version `before`, up to `after`.

    The columns are those of the newest version, and `weight` BIGINT.

    Raises:
        Py4JJavaError, PySparkException: the versions cannot be read together.
    """
    nothing = jvm(spark).scala.Option.empty()
    reader = _singleton(spark, "org.apache.spark.sql.delta.commands.cdc.CDCReader")
    rows = reader.changesToBatchDF(
        index.deltaLog(), before + 1, after, _jvm.java_session(spark), nothing, nothing, True, nothing
    )
    changes = DataFrame(rows, spark)
    plan = _jvm.analyzed_plan(changes)
    if str(plan.getClass().getSimpleName()) == "Union":
        # Delta begins with an empty relation of unknown size, for which Spark would broadcast nothing.
        parts = [each for each in _jvm.scala_seq(plan.children()) if each.getClass().getSimpleName() != "LogicalRDD"]
        together = jvm(spark).org.apache.spark.sql.catalyst.plans.logical.Union
        if parts:
            rest = parts[0] if len(parts) == 1 else together(_jvm.to_seq(spark, parts), False, False)
            changes = _jvm.frame_of(spark, rest)
    sign = sf.when(sf.col(_CHANGE).isin(*_REMOVED), sf.lit(-1)).otherwise(sf.lit(1)).cast("bigint")
    return changes.withColumn(weight, sign).drop(_CHANGE, "_commit_version", "_commit_timestamp")


def _singleton(spark: SparkSession, name: str) -> Any:
    found: Any = jvm(spark)
    for part in f"{name}$".split("."):
        found = getattr(found, part)
    return getattr(found, "MODULE$")
