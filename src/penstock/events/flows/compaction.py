"""The event in which a compacted log records the totals of the events that it no longer has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from penstock.events.details import mapping, mappings
from penstock.events.flows.facts import FlowProjection, details_of, flow_key
from penstock.events.types import Event, EventType

Key = tuple[str, str]

_KEY: Final = EventType.COMPACTION.value


class SummedProjection(FlowProjection):
    """A projection with sums over all batches; a `compaction` event has them in the part of this name."""

    PART: ClassVar[str]

    @abstractmethod
    def totals(self) -> dict[Key, dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""


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
    if event.event_type is not EventType.COMPACTION:
        return
    for flow in mappings(details_of(event), "flows"):
        totals = mapping(flow, part)
        if totals is not None:
            yield flow_key(str(flow.get("dataset")), str(flow.get("flow"))), totals
