"""A join of two streams that no time bounds keeps their rows for ever."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.graph.elements import OutputMode
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN, STREAM_JOIN
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.unbounded_state import operator_retention


def join_without_time_bound(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of it: as of a pipeline, which `strict` refuses."""
    retention = operator_retention(write.frame, OutputMode.APPEND)  # the only mode of a join, or the same to it
    if any(each.name == STREAM_JOIN and each.for_ever for each in retention):
        starting.notice(
            DefinitionError(
                "STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND",
                location=write.location,
                dataset=str(write.dataset),
                flow=write.name,
                size=SIZE_NOT_KNOWN[STREAM_JOIN],
            )
        )
    return write
