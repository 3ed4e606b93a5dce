"""Conditions on columns that a projection dropped or renamed, resolved as `DataFrame.where` resolves them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.spark import _jvm


def with_missing_references(frame: DataFrame, conditions: Mapping[str, Column]) -> DataFrame | None:
    """Adds boolean `conditions` as columns, by name, where one refers to a column that only the query's input has.

    Spark resolves such a reference in a `where`, and there alone: its analyzer takes the column through the projections
    below the filter, and leaves it out again above. Returns None when a `where` does not resolve them either, or when
    no column is missing.
    """
    try:
        filtered = _jvm.analyzed_plan(frame.where(sf.coalesce(*conditions.values())))
    except AnalysisException:
        return None
    above = _jvm.scala_seq(filtered.children())
    if filtered.getClass().getSimpleName() != "Project" or above[0].getClass().getSimpleName() != "Filter":
        return None
    spark, condition = frame.sparkSession, above[0]
    widened = _jvm.frame_of(spark, condition.child())
    own = [_jvm.column_of(spark, attribute) for attribute in _jvm.scala_seq(filtered.projectList())]
    resolved = [_jvm.column_of(spark, each) for each in _jvm.scala_seq(condition.condition().children())]
    return widened.select(*own, *(each.alias(name) for name, each in zip(conditions, resolved, strict=True)))
