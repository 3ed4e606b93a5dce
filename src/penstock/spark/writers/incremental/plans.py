"""Builds nodes of Spark's logical plans, and conditions over columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf

from penstock.spark import _jvm


def project(spark: SparkSession, columns: Sequence[Any], plan: Any) -> Any:
    """Returns a projection of `plan` on named expressions."""
    return _logical(spark).Project(_jvm.to_seq(spark, columns), plan)


def also_grouped_by(spark: SparkSession, aggregate: Any, attribute: Any, plan: Any) -> Any:
    """Returns an aggregation over `plan` instead, whose rows are grouped by an attribute too, which comes last."""
    grouping, named = _jvm.scala_seq(aggregate.groupingExpressions()), _jvm.scala_seq(aggregate.aggregateExpressions())
    keys, columns = (_jvm.to_seq(spark, [*each, attribute]) for each in (grouping, named))
    return aggregate.copy(keys, columns, plan, aggregate.hint())


def union(spark: SparkSession, plans: Sequence[Any]) -> Any:
    """Returns the rows of all plans, which have the same attributes."""
    return plans[0] if len(plans) == 1 else _logical(spark).Union(_jvm.to_seq(spark, plans), False, False)


def renamed(spark: SparkSession, expression: Any, attribute: Any) -> Any:
    """Returns an expression under the name and id of an attribute."""
    nothing, java = _jvm.to_seq(spark, ()), _jvm.jvm(spark)
    alias = java.org.apache.spark.sql.catalyst.expressions.Alias
    return alias(expression, attribute.name(), attribute.exprId(), nothing, java.scala.Option.empty(), nothing)


def under(spark: SparkSession, plan: Any, given: Sequence[Any], wanted: Sequence[Any], *more: Any) -> Any:
    """Returns `plan` with its expressions `given` as the attributes `wanted`, and `more` as they are."""
    named = [renamed(spark, each, attribute) for each, attribute in zip(given, wanted, strict=True)]
    return project(spark, [*named, *more], plan)


def new_attribute(spark: SparkSession, name: str, kind: Any) -> Any:
    """Returns an attribute of a Java `DataType` that no plan has yet."""
    java = _jvm.jvm(spark)
    expressions, no_metadata = java.org.apache.spark.sql.catalyst.expressions, java.org.apache.spark.sql.types.Metadata
    identity = expressions.NamedExpression.newExprId()
    return expressions.AttributeReference(name, kind, True, no_metadata.empty(), identity, _jvm.to_seq(spark, ()))


def minus_product(spark: SparkSession, left: Any, right: Any) -> Any:
    """Returns the expression of minus the product of two BIGINT attributes."""
    expressions = _jvm.jvm(spark).org.apache.spark.sql.catalyst.expressions
    return expressions.UnaryMinus(expressions.Multiply(left, right))


def all_same(pairs: Iterable[tuple[Column, Column]]) -> Column:
    """Returns whether the columns of all pairs have the same value, NULL being the same as NULL."""
    return reduce(and_, (one.eqNullSafe(other) for one, other in pairs), sf.lit(True))


def kind_of(node: Any) -> str:
    """Returns the class of an expression, a plan or another object of Spark, such as `Alias`."""
    return str(node.getClass().getSimpleName()).rstrip("$")


def _logical(spark: SparkSession) -> Any:
    return _jvm.jvm(spark).org.apache.spark.sql.catalyst.plans.logical
