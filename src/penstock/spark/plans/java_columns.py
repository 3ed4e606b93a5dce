"""Columns whose values a Java method gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, SparkSession

from penstock.spark._jvm import array_of, column_of, expression_of, jvm, to_seq


def called_by_optimizer(spark: SparkSession, target: Any, class_name: str, method: str) -> Column:
    """Returns a BIGINT column that Spark's optimizer computes: it calls a method of an object of the driver."""
    java = jvm(spark)
    holder = _literal(spark, target, java.java.lang.Class.forName(class_name))
    kind, nothing = java.org.apache.spark.sql.types.DataTypes.LongType, to_seq(spark, ())
    invoke = java.org.apache.spark.sql.catalyst.expressions.objects.Invoke
    return column_of(spark, invoke(holder, method, kind, nothing, nothing, True, False, True))


def called_for_rows(spark: SparkSession, target: Any, method: str, kind: Any, *arguments: Column) -> Column:
    """Returns a column of type `kind`, a Java `DataType`: what a method of `target` gives for each row, called once.

    Each task has a copy of `target`, a serializable Java object of a public class. NULL where an argument is.
    """
    given = to_seq(spark, [expression_of(spark, argument) for argument in arguments])
    invoke = jvm(spark).org.apache.spark.sql.catalyst.expressions.objects.Invoke
    holder = _literal(spark, target, target.getClass())
    return column_of(spark, invoke(holder, method, kind, given, to_seq(spark, ()), True, True, False))


def binary_search(spark: SparkSession, sorted_values: Sequence[int], value: Column) -> Column:
    """Returns where a BIGINT is in `sorted_values`, as the JDK returns it: -1 - p when it would be inserted at p."""
    java = jvm(spark)
    expressions, types = java.org.apache.spark.sql.catalyst.expressions, java.org.apache.spark.sql.types
    values = array_of(spark, "long", *sorted_values)
    literal = _literal(spark, values, java.java.lang.Class.forName("[J"))
    arguments, nothing = to_seq(spark, [literal, expression_of(spark, value)]), to_seq(spark, ())
    call = expressions.objects.StaticInvoke(
        java.java.lang.Class.forName("java.util.Arrays"),
        types.DataTypes.IntegerType,
        "binarySearch",
        arguments,
        nothing,
        True,
        False,
        True,
        java.scala.Option.empty(),
    )
    return column_of(spark, call)


def _literal(spark: SparkSession, value: Any, of: Any) -> Any:
    java = jvm(spark)
    kind = java.org.apache.spark.sql.types.ObjectType(of)
    return java.org.apache.spark.sql.catalyst.expressions.Literal(value, kind)
