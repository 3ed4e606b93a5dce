"""`no_input`: a streaming flow has read no rows for too long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.alerts.rules.silence import Silence
from penstock.config import AlertSettings
from penstock.events import Event, EventType
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.graph.flows.flow_type import FlowType

RULE = "no_input"
_NOT_FED = {FlowType.MATERIALIZED_VIEW.value, "view"}


class NoInput:
    """Each flow is heard on its own: the others would hide that one source is silent."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], Silence] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        if event.event_type is EventType.FLOW_DEFINITION:
            details = details_of(event)
            if not details.get("once") and str(details.get("flow_type")) not in _NOT_FED:
                self._silence(str(details.get("output_dataset")), str(event.origin.flow_name), event.timestamp)
        if fact is None or fact.progress is None or fact.progress.num_input_rows == 0:
            return
        known = self._flows.get(flow_key(fact.dataset, fact.flow))
        if known is not None:
            limit = self._settings.of(fact.dataset).no_input
            known.end(fact.timestamp, limit or 0)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow into a table that has a limit."""
        for silence in self._flows.values():
            limit = self._settings.of(silence.table).no_input
            if limit is not None:
                yield silence.finding(RULE, "SOURCE_SILENT", now, limit)

    def _silence(self, table: str, flow: str, moment: datetime) -> None:
        self._flows.setdefault(flow_key(table, flow), Silence(table, flow, moment, moment))
