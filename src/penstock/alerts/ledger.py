"""What fires, and where it was delivered: kept for a run, and written into its event log."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

from penstock.errors import PenstockError
from penstock.events import Event, EventLog, EventType, Level
from penstock.events.alerts import Alert, AlertState, DeliveryState, alert, alert_delivery
from penstock.observe.status.alerts import AlertProjection


class Ledger:
    """The alerts of a pipeline; thread-safe.

    What cannot be written, because a disk is full, is sent all the same: then above all.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._alerts = AlertProjection()
        self._lock = threading.Lock()

    def apply(self, event: Event) -> None:
        """Takes an event of former runs into account."""
        with self._lock:
            self._alerts.apply(event)

    def firing(self) -> tuple[Alert, ...]:
        """Returns the alerts that fire, oldest first."""
        with self._lock:
            return self._alerts.firing()

    def record(self, change: Alert) -> None:
        """An alert fires or is resolved."""
        with self._lock:
            self._alerts.record(change)
        fires = change.state is AlertState.FIRING
        self._append(
            EventType.ALERT,
            *alert(change),
            level=Level.WARN if fires else Level.INFO,
            dataset=change.dataset,
            error=change.error if fires else None,
        )

    def undelivered(self, destination: str) -> tuple[Alert, ...]:
        """Returns the alerts that are to be sent to the destination."""
        with self._lock:
            return self._alerts.undelivered(destination)

    def delivered(self, destination: str, alerts: Sequence[Alert]) -> None:
        """The destination has taken them."""
        with self._lock:
            self._alerts.delivered(destination, {each.id: each.state for each in alerts})
        self._append(
            EventType.ALERT_DELIVERY, *alert_delivery(destination, DeliveryState.DELIVERED, alerts), level=Level.INFO
        )

    def failed(self, destination: str, alerts: Sequence[Alert], error: PenstockError) -> None:
        """The destination does not take them; called once, until it takes a message."""
        built = alert_delivery(destination, DeliveryState.FAILED, alerts, reason=error.message)
        self._append(EventType.ALERT_DELIVERY, *built, level=Level.WARN, error=error)

    def _append(self, event_type: EventType, message: str, details: Any, **more: Any) -> None:
        with contextlib.suppress(PenstockError, ValueError):  # the log's disk is full, or the run is over
            self._log.append(event_type, message, details, **more)
