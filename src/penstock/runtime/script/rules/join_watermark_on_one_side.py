"""A join of two streams on equal times needs a watermark on both of them."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.join_watermarks import one_sided_joins


def join_watermark_on_one_side(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of a join that loses late rows of one side uncounted. A pipeline is refused."""
    for join in one_sided_joins(write.frame):
        starting.notice(
            DefinitionError(
                "JOIN_WATERMARK_ON_ONE_SIDE",
                location=write.location,
                dataset=str(write.dataset),
                flow=write.name,
                marked=join.marked,
                unmarked=join.unmarked,
            )
        )
    return write
