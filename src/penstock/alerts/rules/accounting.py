"""`accounting`: the rows of a batch do not add up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.events import Event, Verdict, verdict_of
from penstock.events.flows.facts import FlowFact, flow_key

RULE = "accounting"


class Accounting:
    """It is over when the flow's newest batch that can be checked adds up: what is missing stays missing and logged."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], Finding] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        verdict, dataset = verdict_of(event), event.origin.dataset_name
        if dataset is None or verdict in {None, Verdict.NOT_CHECKABLE}:
            return
        flow = event.origin.flow_name or dataset
        key = flow_key(dataset, flow)
        before = self._flows.get(key)
        error = (event.error or {"message": event.message}) if verdict is Verdict.BROKEN else None
        if before is None or (error is None) is not (before.error is None):
            self._flows[key] = Finding(RULE, dataset, flow, event.timestamp, error)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow whose batches were checked."""
        for found in self._flows.values():
            if self._settings.of(str(found.dataset)).accounting:
                yield found
