"""SELECT DISTINCT of a stream that appends, as `DataFrame.distinct` does."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from penstock.graph.elements import OutputMode
from penstock.spark import _jvm
from penstock.spark.plans.inspection import check_output_mode

_DISTINCT = "Distinct"


def append_distinct(frame: DataFrame) -> DataFrame:
    """Returns a streaming query with its DISTINCT as a deduplication where it can append only so; else `frame` itself.

    Spark runs the DISTINCT of SQL as an aggregation, which without a watermark in its columns replaces the whole result
    in each batch. A deduplication gives the same rows, each in the batch that brings it first.
    """
    plan = _jvm.analyzed_plan(frame)
    if not frame.isStreaming or _DISTINCT not in str(plan) or _appends(frame):
        return frame
    changed = _jvm.frame_of(frame.sparkSession, _deduplicated(frame, plan))
    return changed if _appends(changed) else frame


def _appends(frame: DataFrame) -> bool:
    with suppress(AnalysisException):
        check_output_mode(frame, OutputMode.APPEND)
        return True
    return False


def _deduplicated(frame: DataFrame, plan: Any) -> Any:
    children = [_deduplicated(frame, child) for child in _jvm.scala_seq(plan.children())]
    if children:
        plan = plan.withNewChildren(_jvm.to_seq(frame.sparkSession, children))
    if plan.getClass().getSimpleName() != _DISTINCT or not plan.isStreaming():
        return plan
    logical = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.plans.logical
    return logical.Deduplicate(plan.child().output(), plan.child())
