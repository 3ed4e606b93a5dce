"""A batch query as a tree of the operators through which changes of its inputs can be followed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.spark import _jvm
from penstock.spark.plans.definition import marked_dataset
from penstock.spark.writers.incremental.plans import kind_of


class Operator(enum.Enum):
    """What an operator makes of its rows.

    A `ROWS` operator maps each row on its own; the rows of `GROUPS`, `DISTINCT` and `WINDOW` depend on others with the
    same key. Nothing is known of `OTHER`.
    """

    TABLE = "table"
    CONSTANT = "constant"
    ROWS = "rows"
    UNION = "union"
    JOIN = "join"
    GROUPS = "groups"
    DISTINCT = "distinct"
    WINDOW = "window"
    OTHER = "other"


# Nodes that change neither rows nor columns: order and files of a table are no part of its rows.
_TRANSPARENT: Final = {
    "SubqueryAlias",
    "View",
    "Sort",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "EventTimeWatermark",
    "ResolvedHint",
    "UnresolvedHint",
}
_OPERATORS: Final = {
    "Project": Operator.ROWS,
    "Filter": Operator.ROWS,
    "Generate": Operator.ROWS,
    "Union": Operator.UNION,
    "Join": Operator.JOIN,
    "Aggregate": Operator.GROUPS,
    "Distinct": Operator.DISTINCT,
    "Deduplicate": Operator.DISTINCT,
    "Window": Operator.WINDOW,
}
_CONSTANTS: Final = {"Range", "OneRowRelation", "EmptyRelation"}
_WORDS: Final = {
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Tail": "tail",
    "Sample": "a sample",
    "Expand": "grouping sets, ROLLUP or CUBE",
    "CollectMetrics": "a view with expectations",
    "Intersect": "INTERSECT",
    "Except": "EXCEPT",
    "UnionLoop": "a recursive query",
    "Pivot": "PIVOT",
}
_FROM_THE_LEFT: Final = {"LeftOuter", "LeftSemi", "LeftAnti"}

Changes = Callable[["Node"], bool]
"""Whether the rows of a TABLE may have changed since the last refresh."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operator: `plan` is Spark's node of it, whose own children may have nodes between that are left out here.

    `why` names what keeps an `OTHER` from being followed.
    """

    plan: Any
    operator: Operator
    children: tuple[Node, ...] = ()
    why: str = ""

    def walk(self) -> Iterator[Node]:
        """Yields the node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def reads(self, changes: Changes) -> bool:
        """Whether it reads a table that may have changed, or something of which that is not known."""
        return any(
            node.operator is Operator.OTHER or (node.operator is Operator.TABLE and changes(node))
            for node in self.walk()
        )

    @property
    def kind(self) -> str:
        """The class of Spark's node, or the type of a join, such as `LeftOuter`."""
        return str(self.plan.joinType().toString()) if self.operator is Operator.JOIN else kind_of(self.plan)


def shape_of(frame: DataFrame) -> Node:
    """Returns the operators of an analysed batch query."""
    return node_of(_jvm.without_ctes(frame))


def node_of(plan: Any) -> Node:
    """Returns the operators of an analysed plan without common table expressions."""
    kind = kind_of(plan)
    if kind in _TRANSPARENT:
        return node_of(plan.children().head())
    if not plan.subqueries().isEmpty():
        return Node(plan, Operator.OTHER, why="a subquery in an expression")
    if plan.children().isEmpty():
        return _leaf(plan, kind)
    children = tuple(map(node_of, _jvm.scala_seq(plan.children())))
    operator = _OPERATORS.get(kind, Operator.OTHER)
    return Node(plan, operator, children, why=_WORDS.get(kind, kind) if operator is Operator.OTHER else "")


def _leaf(plan: Any, kind: str) -> Node:
    """Analysis has marked empty relations in the place of the pipeline's own tables."""
    if kind == "LocalRelation":
        return Node(plan, Operator.CONSTANT if marked_dataset(plan) is None else Operator.TABLE)
    if kind in _CONSTANTS:
        return Node(plan, Operator.CONSTANT)
    index = _jvm.file_index(plan) if kind == "LogicalRelation" else None
    if index is None or kind_of(index) != "TahoeLogFileIndex":
        return Node(plan, Operator.OTHER, why="a source without versions")
    if index.isTimeTravelQuery():
        return Node(plan, Operator.CONSTANT)
    if plan.output().size() != index.metadata().schema().size():
        return Node(plan, Operator.OTHER, why="the column _metadata")
    return Node(plan, Operator.TABLE)


def obstacle(node: Node, changes: Changes) -> Node | None:
    """Returns the first operator that does not let changed rows pass one by one; None when the query is linear.

    Linear means Q(R + d) = Q(R) + Q(d) for bags of rows, with the other inputs as they are; see `linear`.
    """
    if not node.reads(changes):
        return None
    match node.operator:
        case Operator.TABLE | Operator.CONSTANT:
            return None
        case Operator.ROWS | Operator.UNION:
            below = (obstacle(child, changes) for child in node.children)
            return next((found for found in below if found is not None), None)
        case Operator.JOIN:
            left, right = node.children
            kind = node.kind
            if kind in {"Inner", "Cross"}:
                return obstacle(left, changes) or obstacle(right, changes)
            if kind in _FROM_THE_LEFT and not right.reads(changes):
                return obstacle(left, changes) or obstacle(right, changes)
            if kind == "RightOuter" and not left.reads(changes):
                return obstacle(right, changes) or obstacle(left, changes)
            return node
        case _:
            return node
