"""What each flow did in each of the newest updates: when it was in which state, and what it moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from penstock.events.flows.facts import FlowFact, flow_key
from penstock.events.types import Event, EventType, FlowStatus

UPDATES: Final = 50
"""Updates that are kept; older ones stay in the log only."""

_FLOWS: Final = 20_000
_SPANS: Final = 60


@dataclass(slots=True)
class Span:
    """A flow was in `status` from `start` on; `end` is None for what it is in now."""

    status: FlowStatus
    start: datetime
    end: datetime | None = None


@dataclass(slots=True)
class FlowInUpdate:
    """One flow in one update.

    `spans` are its states, at most 60: of a flow that goes to and fro between RUNNING and IDLE later changes are left
    out. The numbers are sums over the update's `batches`; `failed_records` counts broken rules. `error` is its last.
    """

    dataset: str
    flow: str
    spans: list[Span] = field(default_factory=list)
    batches: int = 0
    rows_read: int = 0
    rows_written: int = 0
    rows_dropped: int = 0
    rows_quarantined: int = 0
    rows_late: int = 0
    failed_records: int = 0
    batch_ms: int = 0
    error: Mapping[str, Any] | None = None

    @property
    def status(self) -> FlowStatus | None:
        """The newest state."""
        return self.spans[-1].status if self.spans else None

    @property
    def milliseconds_per_batch(self) -> float | None:
        """How long a batch took on average."""
        return self.batch_ms / self.batches if self.batches else None

    @property
    def rows_per_second(self) -> float | None:
        """Rows read for each second of batch time."""
        return 1000 * self.rows_read / self.batch_ms if self.batch_ms else None

    def enter(self, status: FlowStatus, moment: datetime) -> None:
        """Notes a state; the same one again changes nothing."""
        last = self.spans[-1] if self.spans else None
        if last is not None and (last.status is status or (len(self.spans) >= _SPANS and not status.terminal)):
            return
        if last is not None:
            last.end = moment
        self.spans.append(Span(status, moment))


class UpdateFlowsProjection:
    """The flows of the newest 50 updates, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self._updates: dict[str, dict[tuple[str, str], FlowInUpdate]] = {}

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """Takes an event into account, of which `FlowFacts` made `fact`."""
        if event.event_type is EventType.COMPACTION:  # of the updates before, the log has remains only
            self._updates.clear()
        if not event.event_type.of_its_update:
            return
        flows = self._updates.get(event.origin.update_id)
        if flows is None:
            flows = self._updates[event.origin.update_id] = {}
            self._forget_old()
        if fact is None:
            return
        key = flow_key(fact.dataset, fact.flow)
        if key not in flows:
            flows[key] = FlowInUpdate(fact.dataset, fact.flow)
        _move(flows[key], event, fact)

    def of(self, update_id: str) -> tuple[FlowInUpdate, ...]:
        """Returns the flows of an update in the order of their first event; none for one that is not kept."""
        return tuple(self._updates.get(update_id, {}).values())

    def _forget_old(self) -> None:
        while len(self._updates) > UPDATES or (
            len(self._updates) > 2 and sum(len(flows) for flows in self._updates.values()) > _FLOWS
        ):
            del self._updates[next(iter(self._updates))]


def _move(flow: FlowInUpdate, event: Event, fact: FlowFact) -> None:
    if fact.status is not None:
        flow.enter(fact.status, fact.timestamp)
    if event.error is not None:
        flow.error = event.error
    progress = fact.progress
    if progress is None or fact.repeats:
        return
    flow.batches += 1
    flow.rows_read += progress.num_input_rows
    flow.rows_written += progress.num_output_rows
    flow.rows_dropped += progress.dropped_records
    flow.rows_quarantined += progress.quarantined_records
    flow.rows_late += progress.late_rows or 0
    flow.failed_records += sum(count.failed_records for count in progress.expectations)
    flow.batch_ms += progress.batch_duration_ms or 0
