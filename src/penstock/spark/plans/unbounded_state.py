"""Which stateful operators of a streaming query never free the state of a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.graph.elements import OutputMode
from penstock.graph.unbounded_state import STREAM_JOIN
from penstock.spark import _jvm
from penstock.spark.plans.inspection import joins_of_streams, operators_with_state, stateful_name

_WATERMARK = "spark.watermarkDelayMs"  # in the metadata of a column of event time


@dataclass(frozen=True, slots=True)
class OperatorRetention:
    """A stateful operator, and whether it keeps the state of each key for ever, as far as its plan shows."""

    name: str
    for_ever: bool


def operator_retention(frame: DataFrame, mode: OutputMode) -> tuple[OperatorRetention, ...]:
    """Returns the stateful operators of a streaming query, outermost first.

    What state of the user's own becomes, and what a time to live does to it, only its code shows.
    """
    found = [(name, node) for node in operators_with_state(frame) if (name := stateful_name(node)) is not None]
    operators = [OperatorRetention(name, _for_ever(node, mode)) for name, node in found]
    if any(each.for_ever and each.name == STREAM_JOIN for each in operators):
        operators = _with_conditions_above(operators, frame)
    return tuple(operators)


def _with_conditions_above(operators: list[OperatorRetention], frame: DataFrame) -> list[OperatorRetention]:
    """Checks joins again as Spark runs them: with what a `where` behind the join, or a WHERE, says of both sides."""
    freed = [_jvm.frees_join_state(join) for join in joins_of_streams(_jvm.optimized_plan(frame))]
    joins = [at for at, each in enumerate(operators) if each.name == STREAM_JOIN]
    if len(freed) != len(joins):  # the optimizer has left one out: which is which is unknown
        freed = [all(freed)] * len(joins)
    freed_at = dict(zip(joins, freed, strict=True))
    return [replace(each, for_ever=each.for_ever and not freed_at.get(at, False)) for at, each in enumerate(operators)]


def _for_ever(node: Any, mode: OutputMode) -> bool:
    match node.getClass().getSimpleName():
        case "Aggregate":
            keys = _jvm.scala_seq(node.groupingExpressions())
            return bool(keys) and (mode is OutputMode.COMPLETE or not _has_event_time(keys))
        case "Deduplicate":
            return not _has_event_time(_jvm.scala_seq(node.keys()))
        case "Distinct":
            return not _has_event_time(_jvm.scala_seq(node.output()))
        case "Join":
            return not _jvm.frees_join_state(node)
        case _:
            return False


def _has_event_time(expressions: Iterable[Any]) -> bool:
    """Whether one of the keys passes the watermark some time, after which its state is not read any more."""
    return any(column.metadata().contains(_WATERMARK) for column in _columns(expressions))


def _columns(expressions: Iterable[Any]) -> Iterator[Any]:
    for expression in expressions:
        if expression.getClass().getSimpleName() in {"AttributeReference", "Alias"}:
            yield expression
