"""Complete mode keeps every group for ever, watermark or not, and writes all of them in each batch."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.grouping import NotGrouped, grouping_columns


def complete_mode(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns where there is more than the one group of an aggregation without keys."""
    if write.mode != "complete":
        return write
    try:
        keys = ", ".join(grouping_columns(write.frame))
    except NotGrouped:
        keys = "keys that are not in its result"
    if keys:
        starting.notice(
            DefinitionError(
                "COMPLETE_MODE_KEEPS_ALL",
                location=write.location,
                dataset=str(write.dataset),
                query=write.name,
                keys=keys,
            )
        )
    return write
