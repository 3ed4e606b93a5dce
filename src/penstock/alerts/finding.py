"""What a rule found out about one table, flow or expectation, whether it is wrong or right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.events.alerts import AlertKey, alert_key
from penstock.events.codec import format_timestamp


@dataclass(frozen=True, slots=True)
class Finding:
    """What holds since `since`: something wrong, with the `error` that says what; or, without, that all is well.

    `dataset` is `schema.name`, None for the pipeline as a whole; `subject` the flow or the expectation.
    """

    rule: str
    dataset: str | None
    subject: str | None
    since: datetime
    error: Mapping[str, Any] | None = None

    @property
    def key(self) -> AlertKey:
        """What it is about."""
        return alert_key(self.rule, self.dataset, self.subject)

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `wrong` of `alerts check --json`."""
        error = self.error or {}
        return {
            "rule": self.rule,
            "dataset": self.dataset,
            "subject": self.subject,
            "since": format_timestamp(self.since),
            **{key: error.get(key) for key in ("condition", "message", "fix")},
        }
