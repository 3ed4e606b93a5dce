"""Alerts: what is wrong for longer than the pipeline file allows, from when it fires to when it is resolved."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from penstock.errors.text import clean
from penstock.events.codec import format_timestamp
from penstock.events.details import mappings, moment
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType

_NAMESPACE = uuid.UUID("4c5dd8a8-5b1f-5e6c-9d7a-9a1f0f6f7c11")
_REASON_LIMIT = 500

AlertKey = tuple[str, str, str]
"""What an alert is about: its rule, and in lower case the dataset and the subject, or nothing."""


class AlertState(Enum):
    """FIRING is reported once when something is wrong, RESOLVED once when it is not any more."""

    FIRING = "FIRING"
    RESOLVED = "RESOLVED"


class DeliveryState(Enum):
    """Whether a destination took a message; FAILED is reported once, while delivery is retried."""

    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Alert:
    """The details of an `alert` event.

    `rule` is the key of `alerts.tables` that declares it. `dataset` is `schema.name`, None for the pipeline itself;
    `subject` the flow or the expectation. `error` is `{condition, message, fix, …}`. `since` is when it began to be
    wrong, `fired` when that was reported, `resolved` when its end was reported.
    """

    rule: str
    dataset: str | None
    subject: str | None
    error: Mapping[str, Any]
    since: datetime
    fired: datetime
    resolved: datetime | None = None

    @property
    def key(self) -> AlertKey:
        """What the alert is about."""
        return alert_key(self.rule, self.dataset, self.subject)

    @property
    def id(self) -> str:
        """The same while one alert fires and when it resolves; another one the next time."""
        return str(uuid.uuid5(_NAMESPACE, "/".join((*self.key, self.fired.isoformat()))))

    @property
    def state(self) -> AlertState:
        """Whether it still fires."""
        return AlertState.FIRING if self.resolved is None else AlertState.RESOLVED

    def reports(self, dataset: str | None, condition: str | None) -> bool:
        """Whether it is about this error of this dataset, or with None, of the pipeline itself."""
        return condition == self.error.get("condition") and (dataset or "").casefold() == self.key[1]

    def to_json(self) -> dict[str, Any]:
        """Returns the details of the event, and one element of `alerts` of `status --json`."""
        return {
            "id": self.id,
            "state": self.state.value,
            "rule": self.rule,
            "dataset": self.dataset,
            "subject": self.subject,
            "condition": self.error.get("condition"),
            "message": self.error.get("message"),
            "fix": self.error.get("fix"),
            "since": format_timestamp(self.since),
            "fired": format_timestamp(self.fired),
            "resolved": None if self.resolved is None else format_timestamp(self.resolved),
        }


def alert_key(rule: str, dataset: str | None, subject: str | None) -> AlertKey:
    """Returns what identifies an alert while it fires."""
    return rule, (dataset or "").casefold(), (subject or "").casefold()


def alert(reported: Alert) -> tuple[str, dict[str, Any]]:
    """An alert fires or is resolved. The level is WARN while it fires, with its error."""
    message = clean(str(reported.error.get("message")), limit=_REASON_LIMIT)
    words = f"alert {reported.rule}: {message}"
    if reported.resolved is not None:
        words = f"alert {reported.rule} is resolved: {message}"
    return words, {"alert": reported.to_json()}


def alert_delivery(
    destination: str, state: DeliveryState, alerts: Sequence[Alert], *, reason: str | None = None
) -> tuple[str, dict[str, Any]]:
    """A destination was notified of some alerts, or could not be: then append it with Level.WARN and the error."""
    name = clean(destination, limit=120)
    count = f"{len(alerts)} {'alert' if len(alerts) == 1 else 'alerts'}"
    words = (
        f"{name} was notified of {count}"
        if state is DeliveryState.DELIVERED
        else f"{name} could not be notified of {count}"
    )
    if reason:
        words += f": {clean(reason, limit=_REASON_LIMIT)}"
    return words, {
        "alert_delivery": {
            "destination": destination,
            "state": state.value,
            "alerts": [{"id": each.id, "state": each.state.value} for each in alerts],
        }
    }


def alert_of(event: Event) -> Alert | None:
    """Returns the alert of an `alert` event, else None."""
    if event.event_type is not EventType.ALERT:
        return None
    details = details_of(event)
    since, fired = moment(details, "since"), moment(details, "fired")
    if since is None or fired is None or not isinstance(details.get("rule"), str):
        return None
    return Alert(
        rule=details["rule"],
        dataset=_name(details.get("dataset")),
        subject=_name(details.get("subject")),
        error={key: details.get(key) for key in ("condition", "message", "fix")},
        since=since,
        fired=fired,
        resolved=moment(details, "resolved"),
    )


def delivery_of(event: Event) -> tuple[str, dict[str, AlertState]] | None:
    """Returns which destination has taken which states of alerts, by their ids; None for other events."""
    if event.event_type is not EventType.ALERT_DELIVERY:
        return None
    details = details_of(event)
    if details.get("state") != DeliveryState.DELIVERED.value or not isinstance(details.get("destination"), str):
        return None
    found: dict[str, AlertState] = {}
    for each in mappings(details, "alerts"):
        match each:
            case {"id": str(known), "state": "FIRING" | "RESOLVED" as state}:
                found[known] = AlertState(state)
    return details["destination"], found


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None
