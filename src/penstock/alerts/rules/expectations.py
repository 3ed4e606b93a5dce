"""`expectations`: too few of the newest rows met a rule of the table."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.config import AlertSettings
from penstock.errors import DataError
from penstock.events import Event, ExpectationCount
from penstock.events.flows.facts import FlowFact, flow_key
from penstock.observe.numbers import percent

RULE = "expectations"
_BATCHES = 10


@dataclass(slots=True)
class _Check:
    """The newest batches that one expectation has judged, and since when their share is, or is not, high enough."""

    table: str
    name: str
    since: datetime
    recent: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_BATCHES))
    low: bool = False

    @property
    def passed(self) -> int:
        return sum(passed for passed, _ in self.recent)

    @property
    def rows(self) -> int:
        return sum(passed + failed for passed, failed in self.recent)

    def judge(self, least: float, moment: datetime) -> None:
        low = self.passed < least * self.rows
        if low is not self.low:
            self.low, self.since = low, moment


class Expectations:
    """The share is that of the last ten batches in which the rule judged any rows."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._checks: dict[tuple[str, str], _Check] = {}

    def apply(self, event: Event, fact: FlowFact | None) -> None:
        """Takes one event into account."""
        if fact is None:
            return
        if fact.after_full_refresh:
            for key in [key for key in self._checks if key[0] == fact.dataset.casefold()]:
                self._checks[key].recent.clear()
        if fact.progress is None or fact.repeats:
            return
        for count in fact.progress.expectations:
            self._count(count, fact.timestamp)

    def findings(self, now: datetime) -> Iterator[Finding]:
        """Yields what holds for each expectation of a table that has a limit."""
        for check in self._checks.values():
            least = self._settings.of(check.table).expectations
            if least is None:
                continue
            error = DataError(
                "EXPECTATION_RATE_LOW",
                dataset=check.table,
                table=check.table,
                expectation=check.name,
                rows=f"{check.rows:,}",
                share=percent(check.passed, check.rows),
                limit=f"{100 * least:g} %",
            )
            yield Finding(RULE, check.table, check.name, check.since, error.to_json() if check.low else None)

    def _count(self, count: ExpectationCount, moment: datetime) -> None:
        if count.passed_records + count.failed_records == 0:
            return
        key = flow_key(count.dataset, count.name)
        check = self._checks.setdefault(key, _Check(count.dataset, count.name, moment))
        check.recent.append((count.passed_records, count.failed_records))
        check.judge(self._settings.of(check.table).expectations or 0, moment)
