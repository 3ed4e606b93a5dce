"""Which keys of a result have rows that may have changed, so that the rows of these keys alone are computed again.

A column of the result is a key when no operator puts rows with different values of it together: it comes, unchanged,
from what `GROUP BY` groups by, from a column of `PARTITION BY`, from any column of `DISTINCT`, or from the side of a
join whose rows are kept. The result's rows of one key then depend on no input rows but those of that key. So the keys
of all changed rows are enough, and more of them cost time and change nothing.
(Source: Griffin, Libkin: Incremental Maintenance of Views with Duplicates, 1995; delta rules at the grain of groups.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.writers.incremental.linear import Inputs, changed_rows, rows_now
from penstock.spark.writers.incremental.plans import all_same, kind_of, new_attribute, under, union
from penstock.spark.writers.incremental.shape import Changes, Node, Operator, obstacle

_KEEPS_LEFT: Final = frozenset({"Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"})
_KEEPS_RIGHT: Final = frozenset({"Inner", "Cross", "RightOuter"})


@dataclass(frozen=True, slots=True)
class Keys:
    """Columns of a query's result that are keys, and how to find which of their values are touched.

    `origins` give, in a plan each, the values in changed rows.
    """

    attributes: tuple[Any, ...]
    origins: tuple[_Origin, ...]


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """Rows that leave a view: those whose `keys`, columns of the view, are among `values`, one column for each key."""

    keys: tuple[str, ...]
    values: DataFrame

    def kept_of(self, stored: DataFrame) -> DataFrame:
        """Returns the rows of the view that stay."""
        pairs = zip(self.keys, self.values.columns, strict=True)
        equal = all_same((stored[quoted(key)], self.values[value]) for key, value in pairs)
        return stored.join(sf.broadcast(self.values), equal, "left_anti")


@dataclass(frozen=True, slots=True)
class _Changed:
    """The values of expressions in the changed rows of a linear node."""

    node: Node
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Matching:
    """The values of expressions in a node's present rows whose `on` is among values that are touched elsewhere."""

    node: Node
    values: tuple[Any, ...]
    on: tuple[Any, ...]
    among: tuple[_Origin, ...]


_Origin = _Changed | _Matching


def keys_of(node: Node, changes: Changes) -> Keys | None:
    """Returns the keys of a query's result; None when it has none."""
    for left in (True, False):
        trace = _Trace(changes, left)
        columns = [each for each in _jvm.scala_seq(node.plan.output()) if _comparable(each)]
        keys = tuple(each for each in columns if trace.of(node, [each]) is not None)
        if keys:
            return Keys(keys, tuple(trace.of(node, keys) or ()))
    return None


def recomputed(query: Node, keys: Keys, inputs: Inputs) -> tuple[DataFrame, ReplacedRows]:
    """Returns the rows of a query that have touched keys, and those of the view that they replace."""
    spark = inputs.spark
    values = _values(keys.origins, [each.dataType() for each in keys.attributes], inputs)
    touched = _jvm.frame_of(spark, values).distinct().localCheckpoint()
    replaced = ReplacedRows(tuple(str(each.name()) for each in keys.attributes), touched)
    return rows_of_keys(query, keys.attributes, touched, inputs), replaced


def rows_of_keys(query: Node, attributes: Sequence[Any], values: DataFrame, inputs: Inputs) -> DataFrame:
    """Returns the rows of a query whose key `attributes` are among `values`, one column for each."""
    pairs = zip(attributes, values.columns, strict=True)
    equal = all_same((_jvm.column_of(inputs.spark, mine), values[value]) for mine, value in pairs)
    return _jvm.frame_of(inputs.spark, rows_now(query, inputs)).join(sf.broadcast(values), equal, "left_semi")


def _values(origins: Sequence[_Origin], types: Sequence[Any], inputs: Inputs) -> Any:
    spark = inputs.spark
    attributes = [new_attribute(spark, f"k{number}", kind) for number, kind in enumerate(types)]
    plans = []
    for origin in origins:
        match origin:
            case _Changed(node):
                rows = changed_rows(node, inputs)
            case _Matching(node, _, on, among):
                wanted = _jvm.frame_of(spark, _values(among, [each.dataType() for each in on], inputs))
                pairs = zip(on, _jvm.scala_seq(_jvm.analyzed_plan(wanted).output()), strict=True)
                equal = reduce(and_, (_jvm.column_of(spark, a) == _jvm.column_of(spark, b) for a, b in pairs))
                present = _jvm.frame_of(spark, rows_now(node, inputs))
                rows = _jvm.analyzed_plan(present.join(sf.broadcast(wanted), equal, "left_semi"))
        plans.append(under(spark, rows, origin.values, attributes))
    return union(spark, plans)


@dataclass(frozen=True, slots=True)
class _Trace:
    """Follows columns down through the operators; at a join that keeps the rows of both sides, to the `left` one."""

    changes: Changes
    left: bool

    def of(self, node: Node, columns: Sequence[Any]) -> list[_Origin] | None:
        """Returns where the values of expressions over a node's columns are touched; None when one is no key."""
        if not node.reads(self.changes):
            return []
        if obstacle(node, self.changes) is None:
            return [_Changed(node, tuple(columns))]
        if node.operator is Operator.OTHER:
            return None
        if node.operator is Operator.JOIN:
            return self._of_join(node, columns)
        below = [self._below(node, column) for column in columns]
        origins: list[_Origin] = []
        for position, child in enumerate(node.children):
            given = [each[position] for each in below if each is not None]
            found = self.of(child, given) if len(given) == len(below) else None
            if found is None:
                return None
            origins += found
        return origins

    def _below(self, node: Node, column: Any) -> list[Any] | None:
        """Returns what a column of a node is in each of its children; None when it is not passed on."""
        if not _is_attribute(column):
            return None
        plan = node.plan
        match node.kind:
            case "Project":
                return _defined(plan.projectList(), column)
            case "Aggregate":
                given = _defined(plan.aggregateExpressions(), column)
                return None if given is None or given[0].foldable() or _aggregates(given[0]) else given
            case "Deduplicate":
                return [column] if _among(plan.keys(), column) else None
            case "Window":
                return [column] if _among(plan.partitionSpec(), column) else None
            case "Union":
                position = next(n for n, each in enumerate(_jvm.scala_seq(plan.output())) if _same(each, column))
                return [child.plan.output().apply(position) for child in node.children]
            case "Distinct" | "Filter" | "Generate":
                return [column] if _among(node.children[0].plan.output(), column) else None
            case _:
                return None

    def _of_join(self, join: Node, columns: Sequence[Any]) -> list[_Origin] | None:
        left, right = join.children
        on = _jvm.join_keys(join.plan)
        if join.kind in _KEEPS_LEFT and (self.left or join.kind not in _KEEPS_RIGHT):
            kept, other = left, right
        elif join.kind in _KEEPS_RIGHT:
            kept, other, on = right, left, [(mine, his) for his, mine in on]
        else:
            return None
        if not all(_among(kept.plan.output(), each) for each in columns):
            return None
        origins = self.of(kept, columns)
        if origins is None or not other.reads(self.changes):
            return origins
        among = self.of(other, [his for _, his in on]) if on else None
        if among is None:
            return None
        return [*origins, _Matching(kept, tuple(columns), tuple(mine for mine, _ in on), tuple(among))]


def _defined(named: Any, attribute: Any) -> list[Any] | None:
    """Returns the expression that a list of named ones gives an attribute."""
    for each in _jvm.scala_seq(named):
        if _same(each, attribute):
            return [each.child() if kind_of(each) == "Alias" else each]
    return None


def _among(expressions: Any, attribute: Any) -> bool:
    candidates = _jvm.scala_seq(expressions) if _is_attribute(attribute) else []
    return any(_is_attribute(each) and _same(each, attribute) for each in candidates)


def _same(named: Any, attribute: Any) -> bool:
    return _jvm.id_of(named) == _jvm.id_of(attribute)


def _comparable(attribute: Any) -> bool:
    kind = str(attribute.dataType().catalogString())
    return "map<" not in kind and "variant" not in kind


def _is_attribute(expression: Any) -> bool:
    return kind_of(expression) == "AttributeReference"


def _aggregates(expression: Any) -> bool:
    functions = _jvm.jvm(SparkSession.active()).org.apache.spark.sql.catalyst.expressions.aggregate
    return bool(functions.AggregateExpression.containsAggregate(expression))
