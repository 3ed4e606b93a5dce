"""How much of the disk under a storage is free."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from penstock.storage.filesystem import Storage
from penstock.storage.local_disk import local_path


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Bytes of a disk: those that are free for this user, and all."""

    free: int
    total: int


def disk_space(storage: Storage) -> DiskSpace | None:
    """Returns the space of the disk where the storage is or will be; None for one that is not on a local disk."""
    if not storage.is_local:
        return None
    place = Path(local_path(storage.uri))
    exists = next((each for each in (place, *place.parents) if each.exists()), None)
    if exists is None:
        return None
    try:
        used = shutil.disk_usage(exists)
    except OSError:
        return None
    return DiskSpace(used.free, used.total)
