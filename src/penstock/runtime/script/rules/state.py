"""State that no watermark frees, and late rows that are not counted."""

from __future__ import annotations

from penstock.graph.elements import OutputMode
from penstock.graph.stream_definition import NO_DELAY
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN, STREAM_JOIN
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.grouping import NotGrouped, grouping_columns
from penstock.spark.plans.inspection import stateful_operators, watermark
from penstock.spark.plans.watermarks import one_sided_joins, operator_retention


# An aggregation that no watermark bounds: in append mode it never writes a row, else its state grows for ever.
def aggregation_without_watermark(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses append mode, as Spark does; warns of update mode. `complete_mode` looks at the third."""
    if write.mode == "complete" or watermark(write.frame) is not None:
        return write
    if "aggregate" not in stateful_operators(write.frame):
        return write
    if write.mode == "append":
        raise write.error("AGGREGATION_NEVER_WRITTEN", query=write.name)
    starting.notice(
        write.error(
            "STREAMING_AGGREGATION_WITHOUT_WATERMARK", flow=write.name, also="", size=SIZE_NOT_KNOWN["aggregate"]
        )
    )
    return write


# Complete mode keeps every group for ever, watermark or not, and writes all of them in each batch.
def complete_mode(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns where there is more than the one group of an aggregation without keys."""
    if write.mode != "complete":
        return write
    try:
        keys = ", ".join(grouping_columns(write.frame))
    except NotGrouped:
        keys = "keys that are not in its result"
    if keys:
        starting.notice(write.error("COMPLETE_MODE_KEEPS_ALL", query=write.name, keys=keys))
    return write


# A join of two streams that no time bounds keeps their rows for ever.
def join_without_time_bound(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of it: as of a pipeline, which `strict` refuses."""
    retention = operator_retention(write.frame, OutputMode.APPEND)  # the only mode of a join, or the same to it
    if any(each.name == STREAM_JOIN and each.for_ever for each in retention):
        starting.notice(
            write.error("STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND", flow=write.name, size=SIZE_NOT_KNOWN[STREAM_JOIN])
        )
    return write


def join_watermark_on_one_side(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of a join that loses late rows of one side uncounted. A pipeline is refused."""
    for join in one_sided_joins(write.frame):
        starting.notice(
            write.error("JOIN_WATERMARK_ON_ONE_SIDE", flow=write.name, marked=join.marked, unmarked=join.unmarked)
        )
    return write


# A watermark without delay takes every row that is out of order across batches for late.
def watermark_without_delay(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of it where an operator drops late rows."""
    mark = watermark(write.frame)
    if mark is not None and mark[1] == NO_DELAY and stateful_operators(write.frame):
        starting.notice(write.error("WATERMARK_WITHOUT_DELAY", flow=write.name, column=mark[0]))
    return write
