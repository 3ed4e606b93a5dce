"""`freshness`: the newest commit of a table is too old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.alerts.rules.silence import Silence
from penstock.config import AlertSettings
from penstock.events import Event, EventType, FlowStatus
from penstock.events.flows.facts import FlowFact, details_of

RULE = "freshness"


class Freshness:
    """A committed batch makes a table fresh, and so does a flow that completes: it has found nothing newer."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._tables: dict[str, Silence] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        if event.event_type is EventType.DATASET_DEFINITION and details_of(event).get("dataset_type") != "VIEW":
            self._silence(str(event.origin.dataset_name), event.timestamp)
        if fact is not None and (fact.progress is not None or fact.status is FlowStatus.COMPLETED):
            limit = self._settings.of(fact.dataset).freshness
            self._silence(fact.dataset, fact.timestamp).end(fact.timestamp, limit or 0)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each table that has a limit."""
        for silence in self._tables.values():
            limit = self._settings.of(silence.table).freshness
            if limit is not None:
                yield silence.finding(RULE, "TABLE_STALE", now, limit)

    def _silence(self, table: str, moment: datetime) -> Silence:
        return self._tables.setdefault(table.casefold(), Silence(table, None, moment, moment))
