"""`watermark_stalled`: the watermark of a flow stands still although rows arrive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.events import Event, WatermarkState, watermark_state_of
from penstock.events.flows.facts import FlowFact, flow_key

RULE = "watermark_stalled"


class WatermarkStalled:
    """The runtime has said so in a `watermark` event, or that it moves again; a full refresh begins a new one."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], Finding] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        state, dataset = watermark_state_of(event), event.origin.dataset_name
        if state is not None and dataset is not None:
            flow = event.origin.flow_name or dataset
            error = None if state is WatermarkState.MOVING else event.error
            self._flows[flow_key(dataset, flow)] = Finding(RULE, dataset, flow, event.timestamp, error)
        if fact is not None and fact.after_full_refresh:
            for key, found in self._flows.items():
                if key[0] == fact.dataset.casefold() and found.error is not None:
                    self._flows[key] = Finding(RULE, found.dataset, found.subject, fact.timestamp)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow of which there was anything to say."""
        for found in self._flows.values():
            if self._settings.of(str(found.dataset)).watermark_stalled:
                yield found
