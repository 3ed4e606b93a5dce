"""The rows of a linear query, when some were removed or changed: how often each is there.

A view cannot be told to lose one of several equal rows. So all that are equal to one that was removed leave it, and as
many as are left come again: n + c of them, where n were there and c is the change, added up over all that changed.
(Source: Gupta, Mumick, Subrahmanian: Maintaining Views Incrementally, 1993, the counting algorithm.)
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.plans.comparable import comparable
from penstock.spark.writers.incremental.inputs import VersionedInputs
from penstock.spark.writers.incremental.linear import changed_rows
from penstock.spark.writers.incremental.plans import all_same
from penstock.spark.writers.incremental.shape import Node
from penstock.spark.writers.incremental.touched import ReplacedRows

_COUNT: Final = "_penstock_count"


class NotCounted(Exception):
    """Rows cannot be counted; the text says why."""


def counted_changes(query: Node, path: str, inputs: VersionedInputs) -> tuple[DataFrame, ReplacedRows]:
    """Returns the rows that come into the view at `path`, and those that leave it before.

    Raises:
        NotCounted: rows cannot be compared, or the view does not have what was removed.
    """
    spark = inputs.spark
    changed = _jvm.frame_of(spark, changed_rows(query, inputs))
    *fields, _ = changed.schema.fields
    if not all(comparable(each.dataType) for each in fields):
        raise NotCounted("rows were removed from what it reads, and some of its columns cannot be compared")
    names, numbered = [each.name for each in fields], [f"k{position}" for position in range(len(fields))]
    net = _counted(changed.toDF(*numbered, _COUNT)).where(sf.col(_COUNT) != 0).localCheckpoint()
    fewer = net.where(sf.col(_COUNT) < 0)
    stored = spark.read.format("delta").load(path).select(*map(quoted, names)).toDF(*numbered)
    equal = all_same((stored[each], fewer[each]) for each in numbered)
    there = stored.join(sf.broadcast(fewer), equal, "left_semi").withColumn(_COUNT, sf.lit(1).cast("bigint"))
    left = _counted(there.unionByName(net)).localCheckpoint()
    if not left.where(sf.col(_COUNT) < 0).isEmpty():
        raise NotCounted("a row that was removed from what it reads is not in the view")
    times = sf.explode(sf.array_repeat(sf.lit(0), sf.col(_COUNT).cast("int")))
    again = left.where(sf.col(_COUNT) > 0).select(*numbered, times).select(*numbered)
    return again.toDF(*names), ReplacedRows(tuple(names), fewer.select(*numbered))


def _counted(rows: DataFrame) -> DataFrame:
    columns = [each for each in rows.columns if each != _COUNT]
    return rows.groupBy(*columns).agg(sf.sum(_COUNT).alias(_COUNT))
