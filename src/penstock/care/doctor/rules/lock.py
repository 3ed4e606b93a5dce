"""The lock of the storage is held by a process that lives, or by none."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import StateError
from penstock.observe.problems import Severity
from penstock.storage import StorageLayout


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STORAGE_LOCK_LEFT for a holder that is gone."""
    holder = facts.holder
    if holder is not None and not holder.alive():
        error = StateError("STORAGE_LOCK_LEFT", pid=holder.owner.pid, host=holder.owner.host)
        place = StorageLayout(facts.storage).lock
        yield Finding(Severity.WARNING, error, where=place, since=holder.heartbeat, commands=("penstock run",))
