"""What replaces a part of a log: some of its lines, and one event with the totals of all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.events.compaction import compaction
from penstock.events.flow_facts import FlowFacts
from penstock.events.flow_records import TOTALS as CHECKPOINT
from penstock.events.flow_records import FlowRecords
from penstock.events.segments import try_decode
from penstock.events.types import Event, EventType, Level, Origin
from penstock.observe.dataset_counts import TOTALS as STATUS
from penstock.observe.dataset_counts import DatasetCounts
from penstock.observe.quality import TOTALS as QUALITY
from penstock.observe.quality import QualityProjection
from penstock.observe.retained_events import RetainedEvents
from penstock.observe.updates import UpdateHistory
from penstock.observe.watermark import TOTALS as LATENESS
from penstock.observe.watermark import WatermarkProjection


@dataclass(frozen=True, slots=True)
class Summary:
    """What stays of `lines` lines: those `kept`, by their numbers from 0, and behind them the event with the `totals`.

    `totals` is None when no line could be read.
    """

    kept: set[int]
    totals: Event | None
    lines: int


def summarize(lines: Iterable[bytes]) -> Summary:
    """Sums up the beginning of a log, line by line; it may begin with the summary of an older part."""
    facts, retained = FlowFacts(), RetainedEvents()
    records, counts, quality, watermark = FlowRecords(), DatasetCounts(), QualityProjection(), WatermarkProjection()
    history = UpdateHistory()
    last: Event | None = None
    number, dropped_before = -1, 0
    for number, line in enumerate(lines):
        event = try_decode(line)
        if event is None:
            retained.keep(number)
            continue
        last = event
        fact = facts.apply(event)
        records.take(event, fact)
        counts.apply(event, fact)
        quality.take(event, fact)
        watermark.take(event, fact)
        history.apply(event, fact)
        retained.take(number, event, fact)
        if event.event_type is EventType.COMPACTION:
            earlier = event.details[EventType.COMPACTION.value].get("dropped")
            dropped_before += earlier - 1 if isinstance(earlier, int) else 0
    stays, count = retained.lines(), number + 1
    if last is None:
        return Summary(stays, None, count)
    flows: dict[tuple[str, str], dict[str, Any]] = {}
    parts = {
        STATUS: counts.totals(),
        CHECKPOINT: records.totals(),
        QUALITY: quality.totals(),
        LATENESS: watermark.totals(),
    }
    for part, totals in parts.items():
        for (dataset, flow), values in totals.items():
            flows.setdefault((dataset, flow), {"dataset": dataset, "flow": flow})[part] = values
    message, details = compaction(count - len(stays) + dropped_before, list(flows.values()), history.totals())
    event = Event(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"compaction/{last.id}")),
        sequence=last.sequence,
        timestamp=last.timestamp,
        origin=Origin(last.origin.pipeline_name, last.origin.update_id, host=last.origin.host),
        level=Level.INFO,
        event_type=EventType.COMPACTION,
        message=message,
        details=details,
    )
    return Summary(stays, event, count)
