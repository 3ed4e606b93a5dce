"""`failed`: a flow has failed, cannot get on, or the whole update has ended without finishing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.errors import ExternalError
from penstock.events import Event, EventType, FlowStatus, UpdateState
from penstock.events.flows.facts import FlowFact, details_of, flow_key

RULE = "failed"
RETRIES_TOO_LONG: Final = timedelta(minutes=5)
"""How long a flow may be tried again and again before that is reported as a failure."""

_WORKS: Final = {FlowStatus.COMPLETED, FlowStatus.IDLE}


class Failed:
    """A flow works again when it commits a batch or completes: that it was started says nothing."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._flows: dict[tuple[str, str], Finding] = {}
        self._retrying: dict[tuple[str, str], Finding] = {}
        self._update: Finding | None = None
        self._reported_by_flow = False

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        match event.event_type:
            case EventType.CREATE_UPDATE:
                self._reported_by_flow = False
                self._retrying.clear()
            case EventType.UPDATE_PROGRESS:
                self._progressed(event)
            case EventType.ACCOUNTING:
                self._reported_by_flow = self._reported_by_flow or event.error is not None
        if fact is not None:
            self._flow(event, fact)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each flow that was heard of, and for the pipeline."""
        if self._update is not None and self._settings.of_pipeline.failed:
            yield self._update
        for key, found in self._flows.items():
            if not self._settings.of(str(found.dataset)).failed:
                continue
            retrying = self._retrying.get(key)
            yield retrying if retrying is not None and now - retrying.since >= RETRIES_TOO_LONG else found

    def _progressed(self, event: Event) -> None:
        state = details_of(event).get("state")
        if state in {UpdateState.RUNNING.value, UpdateState.COMPLETED.value}:
            if self._update is None or self._update.error is not None:
                self._update = Finding(RULE, None, None, event.timestamp)
        elif state == UpdateState.FAILED.value and not self._reported_by_flow:
            error = event.error
            if error is None:
                reason = event.message.partition(": ")[2] or event.message
                error = ExternalError("UPDATE_FAILED", update_id=event.origin.update_id, reason=reason).to_json()
            self._update = Finding(RULE, None, None, event.timestamp, error)

    def _flow(self, event: Event, fact: FlowFact) -> None:
        key = flow_key(fact.dataset, fact.flow)
        before = self._flows.get(key)
        if fact.status is FlowStatus.FAILED:
            self._reported_by_flow = True
            self._retrying.pop(key, None)
            if before is None or before.error is None:
                error = event.error or {"message": event.message}
                self._flows[key] = Finding(RULE, fact.dataset, fact.flow, event.timestamp, error)
        elif fact.progress is not None or fact.status in _WORKS:
            self._retrying.pop(key, None)
            if before is None or before.error is not None:
                self._flows[key] = Finding(RULE, fact.dataset, fact.flow, event.timestamp)
        elif fact.status is FlowStatus.RETRYING and key not in self._retrying:
            self._flows.setdefault(key, Finding(RULE, fact.dataset, fact.flow, event.timestamp))
            error = event.error or {"message": event.message}
            self._retrying[key] = Finding(RULE, fact.dataset, fact.flow, event.timestamp, error)
