"""An aggregation that no watermark bounds: in append mode it never writes a row, else its state grows for ever."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.inspection import stateful_operators, watermark


def aggregation_without_watermark(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses append mode, as Spark does; warns of update mode. `complete_mode` looks at the third."""
    if write.mode == "complete" or watermark(write.frame) is not None:
        return write
    if "aggregate" not in stateful_operators(write.frame):
        return write
    if write.mode == "append":
        raise DefinitionError(
            "AGGREGATION_NEVER_WRITTEN", location=write.location, dataset=str(write.dataset), query=write.name
        )
    starting.notice(
        DefinitionError(
            "STREAMING_AGGREGATION_WITHOUT_WATERMARK",
            location=write.location,
            dataset=str(write.dataset),
            flow=write.name,
            also="",
            size=SIZE_NOT_KNOWN["aggregate"],
        )
    )
    return write
