"""Where a streaming query drops rows as late: the operator that does it first, and the column by which it decides.

Spark compares a row with the watermark that the batch before left: an aggregation by the end of its window, other
operators by its event time. A row that is not after the watermark is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.types import StructType

from penstock.spark import _jvm
from penstock.spark.plans.inspection import stateful_name

DELAY: Final = "spark.watermarkDelayMs"
"""In the metadata of an event-time column, and of its windows."""


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
            groups = {_id(each) for each in _jvm.scala_seq(operator.groupingExpressions()) if _is_timed(each)}
            deciding = next((at for at in timed if _id(output[at]) in groups), None)
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


def _is_timed(expression: Any) -> bool:
    return expression.getClass().getSimpleName() == "AttributeReference" and bool(expression.metadata().contains(DELAY))


def _id(named: Any) -> str:
    return str(named.exprId().id())
