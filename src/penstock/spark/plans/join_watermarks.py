"""Joins of two streams on equal times of which only one has a watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.graph.resolved import OneSidedJoin
from penstock.spark import _jvm
from penstock.spark.plans.inspection import joins_of_streams
from penstock.spark.plans.late_filter import DELAY

_NEVER_ALONE: Final = {"Inner": "left right", "LeftSemi": "left right", "LeftOuter": "right", "RightOuter": "left"}
"""By the kind of a join: the sides whose rows are written only with a partner."""


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
        match _is_timed(left), _is_timed(right):
            case True, False:
                return left, right, "right"
            case False, True:
                return right, left, "left"
            case True, True:
                return None  # Spark goes by the first of them
    return None


def _is_timed(key: Any) -> bool:
    return key.getClass().getSimpleName() == "AttributeReference" and bool(key.metadata().contains(DELAY))


def _name(key: Any) -> str:
    return str(key.name() if key.getClass().getSimpleName() == "AttributeReference" else key.sql())
