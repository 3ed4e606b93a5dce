"""`cluster`: the cluster of a run has lost executors or its master, or has none."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.events import Event, EventType, UpdateState
from penstock.events.flows.facts import FlowFact, details_of

RULE = "cluster"
_OVER = {state.value for state in UpdateState if state.terminal}


class Cluster:
    """The runtime has said so in a `cluster_resources` event; the end of the update is the end of its cluster."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._found: Finding | None = None

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        over = event.event_type is EventType.UPDATE_PROGRESS and details_of(event).get("state") in _OVER
        if event.event_type is EventType.CLUSTER_RESOURCES:
            self._found = Finding(RULE, None, None, event.timestamp, event.error)
        elif self._found is not None and (over or event.event_type is EventType.CREATE_UPDATE):
            self._found = Finding(RULE, None, None, event.timestamp)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for the cluster, when there was anything to say of one."""
        if self._found is not None and self._settings.of_pipeline.cluster:
            yield self._found
