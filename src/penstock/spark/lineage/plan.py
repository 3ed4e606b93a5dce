"""From the JSON form of a logical plan to the lineage of its columns; without Spark.

What a node does is known by its class. Of a class that is not known here the columns are not resolved: nothing is
guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from penstock.graph.schema.column_lineage import NOTHING, UNKNOWN, ColumnLineage, Origins, Transformation

NO_DATA: Final = ""
"""In the place of a leaf's name: its rows come from the query itself."""

_GENERATED: Final = {"Range", "OneRowRelation", "EmptyRelation"}
_SAME_COLUMNS: Final = {
    "CollectMetrics",
    "EventTimeWatermark",
    "GlobalLimit",
    "LocalLimit",
    "Offset",
    "RebalancePartitions",
    "Repartition",
    "RepartitionByExpression",
    "ResolvedHint",
    "Sample",
    "SubqueryAlias",
    "Tail",
    "UpdateEventTimeWatermarkColumn",
    "View",
}
_BOTH_SIDES: Final = {"Inner$", "Cross$", "LeftOuter$", "RightOuter$", "FullOuter$"}
_LEFT_SIDE: Final = {"LeftSemi$", "LeftAnti$"}

Node = Mapping[str, Any]
"""One node of a tree. A tree is the list of its nodes, each before its children."""

_SAME: Final = {"Alias", "AttributeReference"}
_NOT_FOLLOWED: Final = ("Unresolved", "OuterReference")

_Use = Transformation | None
"""How a part of an expression is used; None: it never becomes a value."""


@dataclass(frozen=True, slots=True)
class _Column:
    id: int
    name: str
    origins: Origins


@dataclass(frozen=True, slots=True)
class _Relation:
    """What a node returns; `columns` None: they are unknown. `rows` are the origins of which rows there are."""

    columns: tuple[_Column, ...] | None
    rows: Origins = NOTHING

    @property
    def known(self) -> dict[int, Origins]:
        """What each column is made of, by its id."""
        return {column.id: column.origins for column in self.columns or ()}

    def with_rows(self, trees: Iterable[Sequence[Node]] | None, use: Transformation) -> _Relation:
        """Returns the same columns with expressions that decide on the rows; None: they are not in the plan."""
        if trees is None:
            return _Relation(self.columns, Origins(self.rows.inputs, resolved=False))
        known = self.known
        more = [_origins(tree, known, use) for tree in trees]
        return _Relation(self.columns, Origins.together([self.rows, *more]))


_Rule = Callable[[Node, Sequence[_Relation]], _Relation | None]
"""What a class of nodes returns over what its children return; None when its JSON does not show it."""


def lineage_of_plan(plan: Sequence[Node], leaves: Sequence[str | None], names: Sequence[str]) -> ColumnLineage:
    """Returns the lineage of a query's columns.

    Args:
        plan: `LogicalPlan.toJSON()`, read; common table expressions in the places that refer to them.
        leaves: what each leaf of the plan reads, in the plan's order: a name for `InputColumn.dataset`, NO_DATA, or
            None when it is not known.
        names: the columns of the query.
    """
    if sum(node["num-children"] == 0 for node in plan) != len(leaves):
        return ColumnLineage.unknown(names)
    left, done = list(leaves), list[_Relation]()
    for node in reversed(plan):  # so that a node comes after its children, of which the first is on top
        below = [done.pop() for _ in range(node["num-children"])]
        done.append(_node(node, below) if below else _leaf(node, left.pop()))
    (top,) = done
    if top.columns is None or [column.name.casefold() for column in top.columns] != [*map(str.casefold, names)]:
        return ColumnLineage.unknown(names)
    return ColumnLineage.of(zip(names, (column.origins for column in top.columns), strict=True), top.rows)


def _leaf(node: Node, name: str | None) -> _Relation:
    if kind_of(node) in _GENERATED:
        name = NO_DATA
    if name is None:
        return _unknown(node, ())
    read = {} if name == NO_DATA else {name: frozenset({Transformation.IDENTITY})}
    return _Relation(
        tuple(
            _column(tree, Origins({(dataset, str(tree[0]["name"])): how for dataset, how in read.items()}))
            for tree in _named(node, "output") or ()
        )
    )


def _node(node: Node, below: Sequence[_Relation]) -> _Relation:
    kind = kind_of(node)
    if kind in _SAME_COLUMNS:
        return below[0]
    rule = _RULES.get(kind)
    found = rule(node, below) if rule is not None else None
    return _unknown(node, below) if found is None else found


def _unknown(node: Node, below: Sequence[_Relation]) -> _Relation:
    """Returns what a node gives of which nothing is known but, perhaps, the names of its columns."""
    output = _named(node, "output")
    rows = Origins(Origins.together(each.rows for each in below).inputs, resolved=False)
    if output is None:
        return _Relation(None, rows)
    return _Relation(tuple(_column(tree, UNKNOWN) for tree in output), rows)


def _project(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    return _computed(below[0], _named(node, "projectList"))


def _aggregate(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    keys = _trees(node, "groupingExpressions")
    return _computed(below[0].with_rows(keys, Transformation.GROUP_BY), _named(node, "aggregateExpressions"))


def _window(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    added = _computed(below[0], _named(node, "windowExpressions"))
    return None if added is None else _beside(below[0], added)


def _generate(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    (child,), generator, made = below, node.get("generator"), _named(node, "generatorOutput")
    if child.columns is None or not _is_tree(generator) or made is None or node.get("unrequiredChildIndex") != []:
        return None
    origins = _origins(generator, child.known, Transformation.IDENTITY).used(Transformation.TRANSFORMATION)
    return _Relation((*child.columns, *(_column(tree, origins) for tree in made)), child.rows)


def _expand(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    output, projections = _named(node, "output"), node.get("projections")
    if output is None or not isinstance(projections, list) or not projections:
        return None
    if not all(_are_trees(row) and len(row) == len(output) for row in projections):
        return None
    known = below[0].known
    columns = tuple(
        _column(tree, Origins.together(_origins(row[place], known, Transformation.IDENTITY) for row in projections))
        for place, tree in enumerate(output)
    )
    return _Relation(columns, below[0].rows)


def _join(node: Node, below: Sequence[_Relation]) -> _Relation | None:
    left, right = below
    kind = node.get("joinType")
    name = str(kind.get("object", "") if isinstance(kind, Mapping) else "").rpartition(".")[2]
    if left.columns is None or right.columns is None or name not in _BOTH_SIDES | _LEFT_SIDE:
        return None
    condition = node.get("condition")
    if condition is not None and not _is_tree(condition):
        return None
    both = _beside(left, right).with_rows([] if condition is None else [condition], Transformation.JOIN)
    return _Relation(left.columns if name in _LEFT_SIDE else both.columns, both.rows)


def _union(_: Node, below: Sequence[_Relation]) -> _Relation | None:
    branches = [branch.columns for branch in below if branch.columns is not None]
    if len(branches) < len(below) or len({len(branch) for branch in branches}) > 1:
        return None
    columns = tuple(
        _Column(same[0].id, same[0].name, Origins.together(column.origins for column in same))
        for same in zip(*branches, strict=True)
    )
    return _Relation(columns, Origins.together(branch.rows for branch in below))


def _rows_of_left(_: Node, below: Sequence[_Relation]) -> _Relation | None:
    """INTERSECT and EXCEPT: rows of the left, chosen by all columns of both."""
    left, right = below
    if left.columns is None or right.columns is None:
        return None
    chosen = [column.origins.used(Transformation.FILTER) for column in (*left.columns, *right.columns)]
    return _Relation(left.columns, Origins.together([left.rows, right.rows, *chosen]))


def _distinct(_: Node, below: Sequence[_Relation]) -> _Relation | None:
    (child,) = below
    if child.columns is None:
        return None
    keys = [column.origins.used(Transformation.GROUP_BY) for column in child.columns]
    return _Relation(child.columns, Origins.together([child.rows, *keys]))


def _decided_by(field: str, use: Transformation) -> _Rule:
    """A node that passes columns on, and has expressions that decide on the rows."""

    def rule(node: Node, below: Sequence[_Relation]) -> _Relation:
        given = node.get(field)
        return below[0].with_rows([given] if _is_tree(given) else _trees(node, field), use)

    return rule


_RULES: Final[Mapping[str, _Rule]] = {
    "Project": _project,
    "Aggregate": _aggregate,
    "Window": _window,
    "Generate": _generate,
    "Expand": _expand,
    "Join": _join,
    "Union": _union,
    "SequentialStreamingUnion": _union,
    "Intersect": _rows_of_left,
    "Except": _rows_of_left,
    "Distinct": _distinct,
    "Deduplicate": _decided_by("keys", Transformation.GROUP_BY),
    "DeduplicateWithinWatermark": _decided_by("keys", Transformation.GROUP_BY),
    "Filter": _decided_by("condition", Transformation.FILTER),
    "Sort": _decided_by("order", Transformation.SORT),
}


def _computed(child: _Relation, trees: Sequence[Sequence[Node]] | None) -> _Relation | None:
    """Returns the named expressions over the columns of `child`."""
    if trees is None:
        return None
    known = child.known
    columns = tuple(_column(tree, _origins(tree, known, Transformation.IDENTITY)) for tree in trees)
    return _Relation(columns, child.rows)


def _column(tree: Sequence[Node], origins: Origins) -> _Column:
    return _Column(id_of(tree[0]), str(tree[0]["name"]), origins)


def _beside(left: _Relation, right: _Relation) -> _Relation:
    columns = None if left.columns is None or right.columns is None else (*left.columns, *right.columns)
    return _Relation(columns, Origins.together([left.rows, right.rows]))


def _origins(tree: Sequence[Node], known: Mapping[int, Origins], use: Transformation) -> Origins:
    if len(tree) == 1 and use is Transformation.IDENTITY and kind_of(tree[0]) == "AttributeReference":
        return known.get(id_of(tree[0]), UNKNOWN)  # most columns of a wide table are passed on
    parts = [UNKNOWN if each is None else known.get(each[0], UNKNOWN).used(each[1]) for each in references(tree, use)]
    return Origins.together(parts)


def _trees(node: Node, field: str) -> list[list[dict[str, Any]]] | None:
    """Returns a field that holds expressions; None for what Spark's JSON leaves out."""
    found = node.get(field)
    return found if _are_trees(found) else None


def _named(node: Node, field: str) -> list[list[dict[str, Any]]] | None:
    """Returns a field that holds attributes and aliases."""
    found = _trees(node, field)
    return found if found is not None and all("exprId" in tree[0] for tree in found) else None


def _are_trees(value: object) -> TypeGuard[list[list[dict[str, Any]]]]:
    return isinstance(value, list) and all(_is_tree(each) for each in value)


def _is_tree(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and bool(value) and all(isinstance(node, dict) for node in value)


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
        if "plan" in node or kind.startswith(_NOT_FOLLOWED):  # a subquery: what it reads is not followed
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
