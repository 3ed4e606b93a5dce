"""What watermarks do in a query's plan: which rows are dropped as late, which state is freed, which joins lose rows.

Spark compares a row with the watermark that the batch before left: an aggregation by the end of its window, other
operators by its event time. A row that is not after the watermark is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.graph.elements import OutputMode
from penstock.graph.resolved import OneSidedJoin
from penstock.graph.unbounded_state import STREAM_JOIN
from penstock.spark import _jvm
from penstock.spark.plans.inspection import joins_of_streams, operators_with_state, stateful_name

DELAY: Final = "spark.watermarkDelayMs"
"""In the metadata of an event-time column, and of its windows."""

_NEVER_ALONE: Final = {"Inner": "left right", "LeftSemi": "left right", "LeftOuter": "right", "RightOuter": "left"}
"""By the kind of a join: the sides whose rows are written only with a partner."""


class LateRowsUnknown(Exception):
    """Which rows an operator drops cannot be found out; the text says why."""


@dataclass(frozen=True, slots=True)
class FirstOperator:
    """The operator with state that comes before all others and takes the rows of all sources.

    `above` are the nodes of the plan that stand over it, the root first, each with the position of the child that leads
    to it.
    """

    node: Any
    name: str
    above: tuple[tuple[Any, int], ...]


@dataclass(frozen=True, slots=True)
class LateFilter:
    """By their positions in what an operator is given: the columns of the event time, and of what decides."""

    event_time: int | None
    deciding: int | None

    @classmethod
    def of(cls, output: Sequence[Any], schema: StructType, operator: Any | None) -> LateFilter:
        """`operator` decides by what it groups by, if it does; None, and others, by the first event time."""
        timed = [at for at, each in enumerate(output) if each.metadata().contains(DELAY)]
        deciding = timed[0] if timed else None
        if operator is not None and operator.getClass().getSimpleName() == "Aggregate":
            keys = _jvm.scala_seq(operator.groupingExpressions())
            groups = {_jvm.id_of(each) for each in keys if _jvm.is_marked(each, DELAY)}
            deciding = next((at for at in timed if _jvm.id_of(output[at]) in groups), None)
        event_time = next((at for at in timed if not isinstance(schema[at].dataType, StructType)), None)
        return cls(event_time, deciding)


def first_operator(plan: Any) -> FirstOperator:
    """Returns the operator of an analysed plan that drops late rows first.

    Raises:
        LateRowsUnknown: no single operator takes all rows first.
    """
    found = _innermost(plan)
    if len(found) != 1:
        listed = ", ".join(each.name for each in found)
        raise LateRowsUnknown(f"several stateful operators are siblings: {listed}" if found else "it keeps no state")
    [operator] = found
    if _streams(operator.node) != _streams(plan):
        raise LateRowsUnknown(f"some of its streams do not go through the {operator.name}")
    return operator


def _innermost(plan: Any, above: tuple[tuple[Any, int], ...] = ()) -> list[FirstOperator]:
    children = _jvm.scala_seq(plan.children())
    below = [found for at, child in enumerate(children) for found in _innermost(child, (*above, (plan, at)))]
    name = None if below else stateful_name(plan)
    return below if name is None else [FirstOperator(plan, name, above)]


def _streams(plan: Any) -> int:
    children: Sequence[Any] = _jvm.scala_seq(plan.children())
    return sum(map(_streams, children)) if children else int(bool(plan.isStreaming()))


def one_sided_joins(frame: DataFrame) -> tuple[OneSidedJoin, ...]:
    """Returns the joins of a streaming query that lose late rows of one side without counting them.

    Spark forgets the rows of both sides by the watermark of the one key. A late row of the other side finds no partner
    any more, and is not dropped as late: only a side's own watermark does that.
    """
    joins = [*joins_of_streams(_jvm.analyzed_plan(frame))] if frame.isStreaming else []
    if not joins:
        return ()
    run = [*joins_of_streams(_jvm.optimized_plan(frame))]  # with what a `where` behind the join says
    return tuple(_one_sided(joins, run if len(run) == len(joins) else joins))


def _one_sided(joins: Sequence[Any], run: Sequence[Any]) -> Iterator[OneSidedJoin]:
    """Goes by the joins as they are `run`, and by the names that they have in the query."""
    for written, join in zip(joins, run, strict=True):
        found = _marked_and_other(join)
        if found is not None and found[2] in _NEVER_ALONE.get(str(join.joinType()), ""):
            marked, other, _ = _marked_and_other(written) or found
            yield OneSidedJoin(_name(marked), _name(other))


def _marked_and_other(join: Any) -> tuple[Any, Any, str] | None:
    """Returns the key with a watermark, that without, and the side of the latter; None unless there is one of each."""
    for left, right in _jvm.join_keys(join):
        match _jvm.is_marked(left, DELAY), _jvm.is_marked(right, DELAY):
            case True, False:
                return left, right, "right"
            case False, True:
                return right, left, "left"
            case True, True:
                return None  # Spark goes by the first of them
    return None


def _name(key: Any) -> str:
    return str(key.name() if key.getClass().getSimpleName() == "AttributeReference" else key.sql())


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
    return any(column.metadata().contains(DELAY) for column in _columns(expressions))


def _columns(expressions: Iterable[Any]) -> Iterator[Any]:
    for expression in expressions:
        if expression.getClass().getSimpleName() in {"AttributeReference", "Alias"}:
            yield expression
