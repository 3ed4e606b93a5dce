"""The changes of a linear query, from the changes of its inputs.

A bag of rows has a weight for each row: how often it is there. A change is a bag too, in which the weight of a row that
was removed is negative. For a projection, a filter, a generator or a union Q: Q(R + d) - Q(R) = Q(d), the weights
passing through. For an inner join, with R and S as they are now: R ⋈ S - (R - r) ⋈ (S - s) = r ⋈ S + R ⋈ s - r ⋈ s, the
weight of a pair being the product; so no table is read as it was. A left, semi or anti join is linear in its left side.
(Sources: Gupta, Mumick, Subrahmanian: Maintaining Views Incrementally, 1993; Budiu et al.: DBSP, 2023.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyspark.sql import SparkSession

from penstock.spark import _jvm
from penstock.spark.writers.incremental.plans import minus_product, new_attribute, project, renamed, under, union
from penstock.spark.writers.incremental.shape import Node, Operator


class Inputs(Protocol):
    """The tables that a query reads, at the versions of this refresh.

    `weight` is the BIGINT attribute that plans of changes have behind those of their node.
    """

    spark: SparkSession
    weight: Any

    def changed(self, node: Node) -> bool:
        """Whether rows of a TABLE were added or removed since the last refresh."""

    def now(self, node: Node) -> Any:
        """Returns the plan of a TABLE as it is now, with the attributes of its node."""

    def change(self, node: Node) -> Any:
        """Returns the plan of what has changed in a TABLE, with the attributes of its node and the weight."""


def rows_now(node: Node, inputs: Inputs) -> Any:
    """Returns the plan of a node over its tables as they are now."""
    return rebuilt(node, inputs.spark, inputs.now)


def rebuilt(
    node: Node, spark: SparkSession, table: Callable[[Node], Any], wanted: Callable[[Node], bool] = lambda _: True
) -> Any:
    """Returns the plan of a node in which each TABLE is what `table` gives, and a union has the `wanted` inputs."""
    if node.operator is Operator.TABLE:
        return table(node)
    if not node.children:
        return node.plan
    children = [each for each in node.children if node.operator is not Operator.UNION or wanted(each)]
    below = [rebuilt(child, spark, table, wanted) for child in children]
    if len(below) == len(node.children):
        return _jvm.with_children(spark, node.plan, below)
    columns = _jvm.scala_seq(node.plan.output())
    return union(
        spark, [under(spark, plan, _columns(child), columns) for child, plan in zip(children, below, strict=True)]
    )


def changed_rows(node: Node, inputs: Inputs) -> Any:
    """Returns the plan of a linear node's change, with its attributes and the weight.

    It is not net: a row can be there several times, with weights that cancel each other.
    """
    spark, weight = inputs.spark, inputs.weight
    columns = [*_columns(node), weight]
    match node.operator:
        case Operator.TABLE:
            return inputs.change(node)
        case Operator.UNION:
            changed = [child for child in node.children if child.reads(inputs.changed)]
            own = columns[:-1]
            rows = ((child, changed_rows(child, inputs)) for child in changed)
            return union(spark, [under(spark, plan, _columns(child), own, weight) for child, plan in rows])
        case Operator.JOIN:
            return union(spark, [project(spark, columns, plan) for plan in _changed_pairs(node, inputs)])
    [child] = node.children
    below = changed_rows(child, inputs)
    if node.kind == "Project":
        return project(spark, [*_jvm.scala_seq(node.plan.projectList()), weight], below)
    return project(spark, columns, _jvm.with_children(spark, node.plan, [below]))


def _columns(node: Node) -> list[Any]:
    return list(_jvm.scala_seq(node.plan.output()))


def _changed_pairs(join: Node, inputs: Inputs) -> list[Any]:
    """Returns plans whose union is the change of a join; the weight is among their attributes."""
    left, right = join.children
    spark = inputs.spark

    def joined(one: Any, other: Any) -> Any:
        return _jvm.with_children(spark, join.plan, [one, other])

    pairs = []
    if changed_left := left.reads(inputs.changed):
        pairs.append(joined(changed_rows(left, inputs), rows_now(right, inputs)))
    if right.reads(inputs.changed):
        changed_right = changed_rows(right, inputs)
        pairs.append(joined(rows_now(left, inputs), changed_right))
        if changed_left:
            pairs.append(_both_changed(joined, changed_rows(left, inputs), changed_right, join, inputs))
    return pairs


def _both_changed(joined: Any, left: Any, right: Any, join: Node, inputs: Inputs) -> Any:
    """Returns the pairs of two changes, which the other two terms count twice: minus the product of the weights."""
    spark, weight = inputs.spark, inputs.weight
    other = new_attribute(spark, weight.name(), weight.dataType())
    attributes = _jvm.scala_seq(join.children[1].plan.output())
    pairs = joined(left, project(spark, [*attributes, renamed(spark, weight, other)], right))
    minus = renamed(spark, minus_product(spark, weight, other), weight)
    return project(spark, [*_jvm.scala_seq(join.plan.output()), minus], pairs)
