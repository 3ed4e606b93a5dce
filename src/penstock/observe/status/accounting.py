"""How the rows of a flow's batches add up, over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.events import Event, Verdict, verdict_of


@dataclass(slots=True)
class AccountCounts:
    """How many batches' accounts were balanced, broken, or not checkable; `error` is that of the newest broken ones.

    `broken_since` is when the first of the broken ones was reported.
    """

    balanced: int = 0
    broken: int = 0
    not_checkable: int = 0
    error: Mapping[str, Any] | None = None
    broken_since: datetime | None = None

    def add(self, event: Event) -> None:
        """Takes an `accounting` event into account."""
        match verdict_of(event):
            case Verdict.BALANCED:
                self.balanced += 1
            case Verdict.BROKEN:
                self.broken += 1
                self.error = event.error
                self.broken_since = self.broken_since or event.timestamp
            case Verdict.NOT_CHECKABLE:
                self.not_checkable += 1

    @classmethod
    def sum(cls, counts: Iterable[AccountCounts]) -> AccountCounts:
        """Returns the sum; its error is the first one's that has any."""
        total = cls()
        for each in counts:
            total.balanced += each.balanced
            total.broken += each.broken
            total.not_checkable += each.not_checkable
            total.error = total.error or each.error
            total.broken_since = min(filter(None, (total.broken_since, each.broken_since)), default=None)
        return total

    @property
    def batches(self) -> int:
        """All batches with accounts."""
        return self.balanced + self.broken + self.not_checkable

    def to_json(self) -> dict[str, Any]:
        """Returns `{balanced, broken, not_checkable, error}`."""
        return {
            "balanced": self.balanced,
            "broken": self.broken,
            "not_checkable": self.not_checkable,
            "error": None if self.error is None else dict(self.error),
        }
