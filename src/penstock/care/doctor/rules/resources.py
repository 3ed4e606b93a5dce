"""A run that goes on has file descriptors left, and its output stays small."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.observe.problems import Severity
from penstock.observe.run_resources import resource_warnings


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields RUN_DESCRIPTORS_LOW, RUN_THREADS_MANY and RUN_LOG_LARGE."""
    for error in resource_warnings(facts.processes):
        yield Finding(Severity.WARNING, error)
