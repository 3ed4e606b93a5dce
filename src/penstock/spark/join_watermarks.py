"""Joins of two streams on equal times of which only one has a watermark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.graph.resolved import OneSidedJoin
from penstock.spark import _jvm
from penstock.spark.late_filter import DELAY
from penstock.spark.plans import joins_of_streams

_NEVER_ALONE: Final = {"Inner": "left right", "LeftSemi": "left right", "LeftOuter": "right", "RightOuter": "left"}
"""By the kind of a join: the sides whose rows are written only with a partner."""


def one_sided_joins(frame: DataFrame) -> tuple[OneSidedJoin, ...]:
    """Returns the joins of a streaming query that lose late rows of one side without counting them.

    Spark forgets the rows of both sides by the watermark of the one key. A late row of the other side finds no partner
    any more, and is not dropped as late: only a side's own watermark does that.
    """
    if not frame.isStreaming or not any(joins_of_streams(_jvm.analyzed_plan(frame))):
        return ()
    return tuple(_one_sided(joins_of_streams(_jvm.optimized_plan(frame))))


def _one_sided(joins: Iterator[Any]) -> Iterator[OneSidedJoin]:
    for join in joins:
        keys = ((left, right, _is_timed(left), _is_timed(right)) for left, right in _jvm.join_keys(join))
        first = next((key for key in keys if key[2] or key[3]), None)  # Spark goes by the first of them
        if first is None or (first[2] and first[3]):
            continue
        left, right, left_timed, _ = first
        marked, other, side = (left, right, "right") if left_timed else (right, left, "left")
        if side in _NEVER_ALONE.get(str(join.joinType()), ""):
            yield OneSidedJoin(_name(marked), _name(other))


def _is_timed(key: Any) -> bool:
    return key.getClass().getSimpleName() == "AttributeReference" and bool(key.metadata().contains(DELAY))


def _name(key: Any) -> str:
    return str(key.name() if key.getClass().getSimpleName() == "AttributeReference" else key.sql())
