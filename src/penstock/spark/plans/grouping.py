"""By which of its columns a streaming query has one row a batch: those that it groups by, found in its plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.spark import _jvm

# They hand each row of their only child on as it is, or leave it out.
_PASSING = frozenset({"CollectMetrics", "EventTimeWatermark", "Filter", "ResolvedHint", "SubqueryAlias", "View"})
_TIME_WINDOW = "spark.timeWindow"  # in the metadata of a window's column; that of a session is another
_BOUNDS = frozenset({"start", "end"})  # each of them implies the other: all windows are of one length


class NotGrouped(Exception):
    """Nothing is known to be in one row only; the text says why."""


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """Where a query keeps the window by which it groups: in its column `name`, all of it or one bound of it.

    `given` is what the window is called before the aggregation, `bound` (`start` or `end`) the one that gives it, and
    `whole` whether the query's column is the window itself.
    """

    name: str
    given: str
    bound: str
    whole: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the query that carries, unchanged, the attribute of a plan with this id, or a field of it."""

    name: str
    attribute: str
    field: str | None = None


def grouping_columns(frame: DataFrame, among: Iterable[str] | None = None) -> tuple[str, ...]:
    """Returns columns of a streaming aggregation that distinguish its groups, none for an aggregation into one row.

    Only columns `among` those are considered; None means all. For a window its start or end is enough.

    Raises:
        NotGrouped: the query is no aggregation, changes its rows after it, or leaves out what it groups by.
    """
    aggregate, columns = _aggregate(frame, among)
    computed = _computed(aggregate)
    groups = _jvm.scala_seq(aggregate.groupingExpressions())
    return tuple(dict.fromkeys(_carrier(group, columns, computed)[0] for group in groups))


def window_column(frame: DataFrame) -> WindowColumn:
    """Returns the column with the window of time to which a row of an aggregation belongs.

    Raises:
        NotGrouped: the query is no aggregation by one window, changes its rows after it, or leaves out the window.
    """
    aggregate, columns = _aggregate(frame, None)
    windows = [each for each in _jvm.scala_seq(aggregate.groupingExpressions()) if _is_window(each)]
    if len(windows) != 1:
        raise NotGrouped("it does not group by one window of time, tumbling or sliding")
    name, field = _carrier(windows[0], columns, _computed(aggregate))
    return WindowColumn(name, str(windows[0].name()), field or "start", whole=field is None)


def _aggregate(frame: DataFrame, among: Iterable[str] | None) -> tuple[Any, list[_Column]]:
    """Returns the aggregation whose rows the query returns, and which of its columns reach the result unchanged."""
    plan = _jvm.analyzed_plan(frame)
    wanted = None if among is None else {name.casefold() for name in among}
    columns = [
        _Column(str(each.name()), _jvm.id_of(each))
        for each in _jvm.scala_seq(plan.output())
        if wanted is None or str(each.name()).casefold() in wanted
    ]
    while (kind := plan.getClass().getSimpleName()) != "Aggregate":
        if kind == "Project":
            columns = list(_carried(columns, _jvm.scala_seq(plan.projectList())))
        elif kind not in _PASSING:
            raise NotGrouped(_why(plan, kind))
        plan = plan.child()
    return plan, columns


def _computed(aggregate: Any) -> dict[str, Any]:
    return {_jvm.id_of(each): _value(each) for each in _jvm.scala_seq(aggregate.aggregateExpressions())}


def _carried(columns: Iterable[_Column], projected: list[Any]) -> Iterator[_Column]:
    """Follows columns through a projection; those that it computes carry nothing."""
    values = {_jvm.id_of(each): _value(each) for each in projected}
    for column in columns:
        attribute, field = _source(values[column.attribute])
        if attribute is not None and not (field and column.field):
            yield replace(column, attribute=_jvm.id_of(attribute), field=field or column.field)


def _carrier(group: Any, columns: Iterable[_Column], computed: dict[str, Any]) -> tuple[str, str | None]:
    """Returns the column that distinguishes groups as `group` does, and which field of `group` it is if not all."""
    for column in columns:
        value, field = computed[column.attribute], column.field
        if not value.semanticEquals(group):
            inner, inner_field = _source(value)
            if inner is None or inner_field is None or field or not inner.semanticEquals(group):
                continue
            field = inner_field
        if field is None or (field in _BOUNDS and _is_window(group)):
            return column.name, field
    raise NotGrouped(f"it groups by {_text(group)}, which is not one of its columns")


def _source(value: Any) -> tuple[Any | None, str | None]:
    """Returns the attribute that an expression is, or of which it takes a field, and that field."""
    match value.getClass().getSimpleName():
        case "AttributeReference":
            return value, None
        case "GetStructField" if value.child().getClass().getSimpleName() == "AttributeReference":
            return value.child(), str(value.extractFieldName())
        case _:
            return None, None


def _why(plan: Any, kind: str) -> str:
    if kind in {"Distinct", "Deduplicate", "DeduplicateWithinWatermark"}:
        return "it removes repetitions, and hands each row on once: output_mode='append' is for that"
    if not any(found.getClass().getSimpleName() == "Aggregate" for found in _jvm.nodes(plan)):
        return "it does not aggregate, so no column is known to identify its rows"
    return f"what it aggregates goes through {kind} afterwards, which can make several rows of one"


def _is_window(group: Any) -> bool:
    return _jvm.is_marked(group, _TIME_WINDOW)


def _value(named: Any) -> Any:
    return named.child() if named.getClass().getSimpleName() == "Alias" else named


def _text(expression: Any) -> str:
    return str(expression.sql()).replace("`", "")
