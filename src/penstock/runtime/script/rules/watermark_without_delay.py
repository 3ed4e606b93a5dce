"""A watermark without delay takes every row that is out of order across batches for late."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.graph.stream_definition import NO_DELAY
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.inspection import stateful_operators, watermark


def watermark_without_delay(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Warns of it where an operator drops late rows."""
    mark = watermark(write.frame)
    if mark is not None and mark.delay == NO_DELAY and stateful_operators(write.frame):
        starting.notice(
            DefinitionError(
                "WATERMARK_WITHOUT_DELAY",
                location=write.location,
                dataset=str(write.dataset),
                flow=write.name,
                column=mark.column,
            )
        )
    return write
