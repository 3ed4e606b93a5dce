"""The disk under a local storage has room for batches to come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.errors import ExternalError
from penstock.observe.numbers import byte_size, percent
from penstock.observe.problems import Severity

_ENOUGH: Final = 5_000_000_000
_LITTLE: Final = 1_000_000_000
_SHARE: Final = 0.05


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields DISK_SPACE_LOW below 1 GB, and below 5 GB of a disk of which less than 5 % is free."""
    disk = facts.disk
    if disk is None or disk.free >= _ENOUGH:
        return
    if disk.free < _LITTLE or disk.free < _SHARE * disk.total:
        free, share = byte_size(disk.free), percent(disk.free, disk.total)
        error = ExternalError("DISK_SPACE_LOW", free=free, share=share)
        yield Finding(Severity.WARNING, error, where=facts.storage, commands=("penstock vacuum", "penstock compact"))
