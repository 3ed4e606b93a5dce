"""No later version of Penstock has written the storage."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import StateError
from penstock.observe.problems import Severity


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STORAGE_WRITTEN_BY_LATER_VERSION, with the latest of them."""
    writer = max(facts.writers, key=lambda each: _release(each.version), default=None)
    if writer is not None and _release(writer.version) > _release(facts.own_version):
        error = StateError("STORAGE_WRITTEN_BY_LATER_VERSION", version=writer.version, own=facts.own_version)
        upgrade = ("pip install --upgrade penstock",)
        yield Finding(Severity.WARNING, error, where=facts.storage, since=writer.since, commands=upgrade)


def _release(version: str) -> tuple[int, ...]:
    """The numbers before any suffix, without zeros at their end: 0.2.0.dev1 and 0.2 are one release."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
