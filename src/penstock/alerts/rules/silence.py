"""How long something that should happen again and again has not happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from penstock.alerts.finding import Finding
from penstock.errors import ExternalError
from penstock.observe.numbers import duration_ms


@dataclass(slots=True)
class Silence:
    """The last sign of life of a table or a flow, and since when its signs have come without too long a pause.

    One of which nothing was heard yet has its time from its definition on.
    """

    table: str
    flow: str | None
    last: datetime
    lively_since: datetime

    def end(self, moment: datetime, limit: float) -> None:
        """There is a sign of life; `limit` in seconds."""
        if moment - self.last > timedelta(seconds=limit):
            self.lively_since = moment
        self.last = max(self.last, moment)

    def finding(self, rule: str, condition: str, now: datetime, limit: float) -> Finding:
        """Returns what holds at `now`: `condition` when it is silent for longer than `limit` seconds."""
        if now - self.last <= timedelta(seconds=limit):
            return Finding(rule, self.table, self.flow, self.lively_since)
        facts: dict[str, Any] = {} if self.flow is None else {"flow": self.flow}
        age = duration_ms(1000 * round((now - self.last).total_seconds()))
        error = ExternalError(
            condition, dataset=self.table, **facts, table=self.table, age=age, limit=duration_ms(1000 * limit)
        )
        return Finding(rule, self.table, self.flow, self.last + timedelta(seconds=limit), error.to_json())
