"""What a destination is sent: some alerts in one message, as JSON and as text."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Final

from penstock.events import clean
from penstock.events.alerts import Alert, AlertState

_NAMESPACE = uuid.UUID("ac1a4c35-07d2-5a0e-8bd1-6b8a2f3f3c02")
_SHOWN: Final = 20


class NotDelivered(Exception):
    """A destination did not take a message: `reason` says why, without any secret.

    `passing` says that the same message may be taken a moment later.
    """

    def __init__(self, reason: str, *, passing: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing


@dataclass(frozen=True, slots=True)
class Message:
    """Alerts of one pipeline; without any it is a test. `host` is the machine that sends it."""

    pipeline: str
    host: str
    alerts: tuple[Alert, ...]

    @property
    def id(self) -> str:
        """The same for the same alerts in the same states: a receiver that has seen it can leave a repetition out."""
        parts = sorted(f"{alert.id} {alert.state.value}" for alert in self.alerts)
        return str(uuid.uuid5(_NAMESPACE, "/".join(parts))) if parts else str(uuid.uuid4())

    @property
    def status(self) -> str:
        """`firing` when one of the alerts fires, `resolved` when all are over, `test` without any."""
        if not self.alerts:
            return "test"
        return "firing" if any(alert.state is AlertState.FIRING for alert in self.alerts) else "resolved"

    @property
    def subject(self) -> str:
        """One line: the pipeline, and the alert or how many."""
        if not self.alerts:
            return clean(f"{self.pipeline}: this is a test of alerts", limit=200)
        if len(self.alerts) == 1:
            return clean(f"{self.pipeline} {self.status}: {_summary(self.alerts[0])}", limit=200)
        fire = sum(alert.state is AlertState.FIRING for alert in self.alerts)
        return clean(f"{self.pipeline}: {fire} firing, {len(self.alerts) - fire} resolved", limit=200)

    def text(self) -> str:
        """Returns the message for people: of each alert what is wrong, since when, and what to type."""
        if not self.alerts:
            return f"{self.subject}, sent from {clean(self.host)}. Its readers will receive alerts."
        lines = [self.subject, ""] if len(self.alerts) > 1 else []
        for alert in self.alerts[:_SHOWN]:
            lines.append(f"{alert.state.value} {_summary(alert)}")
            lines.append(f"  since {alert.since:%Y-%m-%d %H:%M:%S} UTC")
            if alert.state is AlertState.FIRING and alert.error.get("fix"):
                lines.append(f"  Fix: {clean(str(alert.error['fix']))}")
        if len(self.alerts) > _SHOWN:
            lines.append(f"and {len(self.alerts) - _SHOWN} more: penstock status")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Returns the body of a webhook, and what a command reads."""
        return {
            "version": 1,
            "id": self.id,
            "status": self.status,
            "pipeline": self.pipeline,
            "host": self.host,
            "text": self.text(),
            "alerts": [alert.to_json() for alert in self.alerts],
        }

    def body(self) -> bytes:
        """Returns the JSON as it is sent."""
        return json.dumps(self.to_json(), separators=(",", ":")).encode()


def _summary(alert: Alert) -> str:
    return clean(f"[{alert.error.get('condition') or alert.rule}] {alert.error.get('message')}", limit=1000)
