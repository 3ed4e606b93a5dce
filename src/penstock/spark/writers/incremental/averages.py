"""Averages that follow from a sum and a count in the same row of a view.

avg(R + d) is not to be had from avg(R) and avg(d), but from sum(R + d) and count(R + d). What Spark's own `avg` does
last, it does here with these two: so the result has the same digits. Floating-point numbers are left out: their sum
depends on the order of the rows.
(Source: Gray et al.: Data Cube, 1997, on algebraic functions.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, SparkSession

from penstock.spark import _jvm
from penstock.spark.writers.incremental.plans import kind_of

_INEXACT: Final = ("float", "double")


@dataclass(frozen=True, slots=True)
class Average:
    """An average whose sum and count are the columns `total` and `count`; `function` is Spark's node of it."""

    total: str
    count: str
    function: Any

    def of(self, total: Column, count: Column, spark: SparkSession) -> Column:
        """Returns the average that a sum and a count make."""
        parts = {}
        for buffer, value in zip(_jvm.scala_seq(self.function.aggBufferAttributes()), (total, count), strict=True):
            typed = value.cast(str(buffer.dataType().catalogString()))
            parts[_jvm.id_of(buffer)] = _jvm.expression_of(spark, typed)
        return _jvm.column_of(spark, _with_parts(spark, self.function.evaluateExpression(), parts))


def average_of(expression: Any, others: Mapping[str, Any]) -> Average | None:
    """Returns how an aggregate follows from the `others` of its view, by name; None when it does not.

    All are Spark's `AggregateExpression`, without DISTINCT.
    """
    function = expression.aggregateFunction()
    if kind_of(function) != "Average" or str(function.prettyName()) == "try_avg":
        return None
    value = function.child()
    if str(value.dataType().catalogString()) in _INEXACT:
        return None
    totals = (name for name, each in _alike(expression, others, "sum") if each.child().semanticEquals(value))
    total, count = next(totals, None), count_of(expression, others)
    return None if total is None or count is None else Average(total, count, function)


def count_of(expression: Any, others: Mapping[str, Any]) -> str | None:
    """Returns which of the `others` counts the values that a sum or an average is of; None when none does."""
    value = expression.aggregateFunction().child()
    return next((name for name, each in _alike(expression, others, "count") if _counts(each, value)), None)


def counts_rows(expression: Any) -> bool:
    """Whether an aggregate counts all rows of its group."""
    function = expression.aggregateFunction()
    if _name(function) != "count" or not expression.filter().isEmpty():
        return False
    return not any(each.nullable() for each in _jvm.scala_seq(function.children()))


def _alike(expression: Any, others: Mapping[str, Any], function: str) -> Iterator[tuple[str, Any]]:
    """Yields the aggregate functions with a name that are over the same rows, by the name of their column."""
    for name, other in others.items():
        if _name(other.aggregateFunction()) == function and _same_filter(expression, other):
            yield name, other.aggregateFunction()


def _counts(count: Any, value: Any) -> bool:
    """Whether a count is that of the rows with a value."""
    children = _jvm.scala_seq(count.children())
    if len(children) == 1 and children[0].semanticEquals(value):
        return True
    return not value.nullable() and not any(each.nullable() for each in children)


def _same_filter(one: Any, other: Any) -> bool:
    mine, his = one.filter(), other.filter()
    if mine.isEmpty() or his.isEmpty():
        return bool(mine.isEmpty() and his.isEmpty())
    return bool(mine.get().semanticEquals(his.get()))


def _name(function: Any) -> str:
    return str(function.prettyName())


def _with_parts(spark: SparkSession, expression: Any, parts: Mapping[str, Any]) -> Any:
    """Returns an expression with others in the place of attributes, by their ids."""
    if kind_of(expression) == "AttributeReference":
        return parts[_jvm.id_of(expression)]
    children = [_with_parts(spark, each, parts) for each in _jvm.scala_seq(expression.children())]
    return _jvm.with_children(spark, expression, children) if children else expression
