"""The event in which a compacted log records the totals of the events that it no longer has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from penstock.events.flow_facts import details_of, flow_key
from penstock.events.types import Event, EventType

Key = tuple[str, str]

_KEY: Final = EventType.COMPACTION.value


def compaction(
    dropped: int, flows: list[dict[str, Any]], update: dict[str, Any] | None = None
) -> tuple[str, dict[str, Any]]:
    """`dropped` old events are gone; `flows` are the totals of each flow up to here, all of its events counted.

    A member of `flows` has `dataset` and `flow`, and for each reader of the log one part, which that reader wrote.
    `update` is the state of the newest update, which may go on behind this event.
    """
    return f"{dropped:,} old event{'s' if dropped != 1 else ''} dropped; their totals stay", {
        _KEY: {"dropped": dropped, "flows": flows, "update": update}
    }


def totals_of(event: Event, part: str) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """Yields, of a `compaction` event, one reader's part of each flow; nothing of other events and damaged ones."""
    flows = details_of(event).get("flows") if event.event_type is EventType.COMPACTION else None
    for flow in flows if isinstance(flows, list) else ():
        totals = flow.get(part) if isinstance(flow, dict) else None
        if isinstance(totals, dict):
            yield flow_key(str(flow.get("dataset")), str(flow.get("flow"))), totals


def total(part: Mapping[str, Any], name: str) -> int:
    """Returns a number of a part, 0 where there is none."""
    value = part.get(name)
    return value if isinstance(value, int) else 0


def moment(part: Mapping[str, Any], name: str) -> datetime | None:
    """Returns a time of a part, None where there is none."""
    try:
        return datetime.fromisoformat(str(part.get(name)))
    except ValueError:
        return None


def mapping(part: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Returns an object of a part, None where there is none."""
    value = part.get(name)
    return value if isinstance(value, dict) else None


def mappings(part: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yields the objects of a list of a part."""
    value = part.get(name)
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))
