"""`falling_behind`: rows arrive faster than a flow processes them, for too long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.errors import ExternalError
from penstock.events import BatchProgress, Event, EventType
from penstock.events.flows.facts import FlowFact, flow_key
from penstock.observe.flows.throughput import WINDOW, falling_behind
from penstock.observe.numbers import duration_ms

RULE = "falling_behind"


@dataclass(slots=True)
class _Flow:
    """The newest batches of a flow in this update, and since when they do, or do not, keep up."""

    table: str
    name: str
    since: datetime
    reason: str | None = None
    recent: deque[tuple[datetime, BatchProgress]] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def judge(self, moment: datetime) -> None:
        reason = falling_behind(self.recent)
        if (reason is None) is not (self.reason is None):
            self.since = moment
        self.reason = reason


class FallingBehind:
    """A flow that does not run does not fall behind: its table gets stale."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], _Flow] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        if event.event_type is EventType.CREATE_UPDATE:
            for flow in self._flows.values():
                flow.recent.clear()
                flow.judge(event.timestamp)
        if fact is None:
            return
        flow = self._flows.setdefault(flow_key(fact.dataset, fact.flow), _Flow(fact.dataset, fact.flow, fact.timestamp))
        if fact.progress is not None:
            flow.recent.append((fact.timestamp, fact.progress))
        elif fact.status is not None and fact.status.terminal:
            flow.recent.clear()
        flow.judge(fact.timestamp)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow into a table that has a limit."""
        for flow in self._flows.values():
            seconds = self._settings.of(flow.table).falling_behind
            if seconds is None:
                continue
            if flow.reason is None or now - flow.since < timedelta(seconds=seconds):
                yield Finding(RULE, flow.table, flow.name, flow.since)
                continue
            age = duration_ms(1000 * round((now - flow.since).total_seconds()))
            error = ExternalError(
                "FLOW_FALLING_BEHIND", dataset=flow.table, flow=flow.name, age=age, reason=flow.reason
            )
            yield Finding(RULE, flow.table, flow.name, flow.since, error.to_json())
