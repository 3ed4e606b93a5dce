"""`no_input`: a streaming flow has read no rows for too long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from penstock.alerts.finding import Finding
from penstock.alerts.rules.silence import Silence
from penstock.config import AlertSettings
from penstock.errors import ExternalError
from penstock.events import Event, EventType
from penstock.events.flow_facts import FlowFact, details_of, flow_key
from penstock.graph.flow_type import FlowType
from penstock.observe.numbers import duration_ms

RULE = "no_input"
_NOT_FED = {FlowType.MATERIALIZED_VIEW.value, "view"}


class NoInput:
    """Each flow is heard on its own: the others would hide that one source is silent."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], tuple[str, str, Silence]] = {}

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
            known[2].end(fact.timestamp, timedelta(seconds=limit or 0))

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow into a table that has a limit."""
        for table, flow, silence in self._flows.values():
            seconds = self._settings.of(table).no_input
            if seconds is None:
                continue
            since = silence.too_long_since(now, timedelta(seconds=seconds))
            if since is None:
                yield Finding(RULE, table, flow, silence.lively_since)
                continue
            age = duration_ms(1000 * round((now - silence.last).total_seconds()))
            error = ExternalError(
                "SOURCE_SILENT", dataset=table, flow=flow, table=table, age=age, limit=duration_ms(1000 * seconds)
            )
            yield Finding(RULE, table, flow, since, error.to_json())

    def _silence(self, table: str, flow: str, moment: datetime) -> None:
        self._flows.setdefault(flow_key(table, flow), (table, flow, Silence.from_now(moment)))
