"""What replaces a part of a log: some of its lines, and one event with the totals of all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.events.codec import encode
from penstock.events.details import total
from penstock.events.flows.compaction import SummedProjection, compaction
from penstock.events.flows.facts import FlowFacts, details_of
from penstock.events.flows.records import FlowRecords
from penstock.events.log.segments import try_decode
from penstock.events.types import Event, EventType, Level, Origin
from penstock.observe.flows.activity import ActivityProjection
from penstock.observe.log.retained_events import RetainedEvents
from penstock.observe.quality import QualityProjection
from penstock.observe.status.dataset_counts import DatasetCounts
from penstock.observe.status.updates import UpdateHistory
from penstock.observe.watermark import WatermarkProjection


@dataclass(frozen=True, slots=True)
class Summary:
    """What stays of `read` lines, without newlines: the `retained` first of them, and behind them the event.

    There is no event when no line could be read.
    """

    lines: list[bytes]
    retained: int
    read: int


def summarize(read_lines: Callable[[], Iterable[bytes]]) -> Summary:
    """Sums up the beginning of a log, which may begin with the summary of an older part.

    The lines are read twice, once to find out which stay: they need not be in memory.
    """
    facts, retained, history = FlowFacts(), RetainedEvents(), UpdateHistory()
    parts: tuple[SummedProjection, ...] = (
        DatasetCounts(),
        FlowRecords(),
        QualityProjection(),
        WatermarkProjection(),
        ActivityProjection(),
    )
    last: Event | None = None
    read = dropped_before = 0
    for number, line in enumerate(read_lines()):
        read += 1
        event = try_decode(line)
        if event is None:
            retained.keep(number)
            continue
        last, fact = event, facts.apply(event)
        for projection in (*parts, history):
            projection.take(event, fact)
        retained.take(number, event, fact)
        if event.event_type is EventType.COMPACTION:
            dropped_before += total(details_of(event), "dropped") - 1
    stay = retained.lines()
    lines = [line for number, line in enumerate(read_lines()) if number in stay]
    if last is not None:
        flows = _totals_by_flow(parts)
        event = _event(last, *compaction(read - len(stay) + dropped_before, flows, history.totals()))
        lines.append(encode(event).rstrip("\n").encode("ascii"))
    return Summary(lines, len(stay), read)


def _totals_by_flow(parts: Iterable[SummedProjection]) -> list[dict[str, Any]]:
    flows: dict[tuple[str, str], dict[str, Any]] = {}
    for part in parts:
        for (dataset, flow), totals in part.totals().items():
            flows.setdefault((dataset, flow), {"dataset": dataset, "flow": flow})[part.PART] = totals
    return list(flows.values())


def _event(last: Event, message: str, details: dict[str, Any]) -> Event:
    return Event(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"compaction/{last.id}")),
        sequence=last.sequence,
        timestamp=last.timestamp,
        origin=Origin(last.origin.pipeline_name, last.origin.update_id, host=last.origin.host),
        level=Level.INFO,
        event_type=EventType.COMPACTION,
        message=message,
        details=details,
    )
