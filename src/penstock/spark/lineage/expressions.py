"""The columns that an expression of a plan refers to, and how: from the JSON form of the plan, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from penstock.graph.column_lineage import Transformation

Node = Mapping[str, Any]
"""One node of a tree. A tree is the list of its nodes, each before its children."""

_SAME: Final = {"Alias", "AttributeReference"}
_UNKNOWN: Final = ("Unresolved", "OuterReference")

_Use = Transformation | None
"""How a part of an expression is used; None: it never becomes a value."""


def kind_of(node: Node) -> str:
    """Returns the name of a node's class, without its package."""
    return str(node.get("class", "")).rpartition(".")[2]


def references(
    tree: Sequence[Node], use: Transformation = Transformation.IDENTITY
) -> Iterator[tuple[int, Transformation] | None]:
    """Yields the id of each attribute that an expression refers to, with its use; None for what cannot be followed.

    `use` is that of the whole expression: FILTER for a condition of rows, for example.
    """
    uses: list[_Use] = [use]  # of the subtrees that are still to come, the next one last; a chain of ORs can be deep
    for node in tree:
        mine, kind = uses.pop(), kind_of(node)
        uses.extend(reversed(_of_children(node, kind, mine)))
        if mine is None:
            continue
        if "plan" in node or kind.startswith(_UNKNOWN):  # a subquery: what it reads is not followed
            yield None
        elif kind == "AttributeReference":
            yield id_of(node), mine


def id_of(node: Node) -> int:
    """Returns the id of an attribute or an alias, which Spark draws."""
    return int(node["exprId"]["id"])


def _of_children(node: Node, kind: str, use: _Use) -> list[_Use]:
    count = int(node["num-children"])
    if use is None or kind == "RaiseError":
        return [None] * count
    if use is Transformation.CONDITIONAL and kind == "PreciseTimestampConversion":
        return [Transformation.TRANSFORMATION]  # the arithmetic of window() asks for the sign of a time
    if not use.direct or kind in _SAME:
        return [use] * count
    made = use.before(Transformation.AGGREGATION if kind == "AggregateExpression" else Transformation.TRANSFORMATION)
    match kind:
        case "If":
            return [Transformation.CONDITIONAL, made, made]
        case "CaseWhen":  # condition, value, condition, value, …, and perhaps another value
            paired = count - count % 2
            return [Transformation.CONDITIONAL if i < paired and i % 2 == 0 else made for i in range(count)]
        case "AggregateExpression":  # the function, and perhaps FILTER (WHERE …)
            return [made, *[Transformation.CONDITIONAL] * (count - 1)]
        case "WindowExpression":  # the function, PARTITION BY and ORDER BY
            return [made, *[Transformation.WINDOW] * (count - 1)]
    return [made] * count
