"""Each line of the event log can be read."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import StateError
from penstock.observe.problems import Severity


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields EVENT_LOG_LINES_SKIPPED, once for all of them."""
    if facts.unreadable:
        file, line = facts.unreadable[0]
        count = len(facts.unreadable)
        error = StateError("EVENT_LOG_LINES_SKIPPED", lines=f"{count:,} {'line' if count == 1 else 'lines'}")
        yield Finding(Severity.WARNING, error, where=f"{file}:{line}", commands=("penstock audit",))
