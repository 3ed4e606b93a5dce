"""Which alerts fire, and which destinations were notified of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.events import Event
from penstock.events.alerts import Alert, AlertKey, AlertState, alert_of, delivery_of

MAX_RESOLVED: Final = 2000
"""How many resolved alerts are kept: a destination may still have to be notified."""


class AlertProjection:
    """The alerts of a pipeline, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self._firing: dict[AlertKey, Alert] = {}
        self._resolved: dict[str, Alert] = {}
        self._reported_firing: dict[str, set[str]] = {}

    def apply(self, event: Event) -> None:
        """Takes one event into account; only `alert` and `alert_delivery` change anything."""
        changed = alert_of(event)
        if changed is not None:
            self.record(changed)
        delivered = delivery_of(event)
        if delivered is not None:
            self.delivered(*delivered)

    def record(self, alert: Alert) -> None:
        """An alert fires or is resolved."""
        if alert.state is AlertState.FIRING:
            self._firing[alert.key] = alert
            return
        self._firing.pop(alert.key, None)
        self._resolved[alert.id] = alert
        if len(self._resolved) > MAX_RESOLVED:
            del self._resolved[next(iter(self._resolved))]

    def delivered(self, destination: str, alerts: Mapping[str, AlertState]) -> None:
        """A destination has taken these states of alerts, given by their ids."""
        reported = self._reported_firing.setdefault(destination, set())
        for known, state in alerts.items():
            if state is AlertState.FIRING:
                reported.add(known)
            else:
                reported.discard(known)

    def firing(self) -> tuple[Alert, ...]:
        """Returns the alerts that fire, oldest first."""
        return tuple(self._firing.values())

    def undelivered(self, destination: str) -> tuple[Alert, ...]:
        """Returns of which alerts the destination does not know yet, as they are now.

        Each that fires, and each resolved one of which it was notified. One that began and ended while the destination
        did not answer is only in the log.
        """
        reported = self._reported_firing.get(destination, set())
        fire = (alert for alert in self._firing.values() if alert.id not in reported)
        over = (self._resolved[known] for known in sorted(reported & self._resolved.keys()))
        return *fire, *over
