"""Continuous processing and real-time mode run few queries; Spark names one thing in the way at a time, or none."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.without_batches import in_the_way_of_continuous, in_the_way_of_real_time


def trigger_without_batches(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses them with all that is in the way, where something is known to be."""
    if "continuous" in write.trigger:
        trigger, reasons = "continuous", in_the_way_of_continuous(write.frame, write.format)
    elif "realTime" in write.trigger:
        trigger, reasons = "realTime", in_the_way_of_real_time(write.frame, write.format, write.mode)
    else:
        return write
    if reasons:
        raise DefinitionError(
            "QUERY_TRIGGER_REFUSED",
            location=write.location,
            dataset=str(write.dataset),
            query=write.name,
            trigger=trigger,
            reasons="; ".join(reasons),
        )
    return write
