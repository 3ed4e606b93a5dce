"""Folders in a storage for the work of one command: no other process uses them, and they go with it.

They lie in the storage, because every executor reaches it. A command that died leaves its folder, locked by a process
that is gone; the next one deletes it. One that was kept has no lock any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout
from penstock.storage.lock import LockOwner, StorageLock, read_holder


@contextmanager
def scratch_folder(storage: Storage, name: str, *, keep: bool) -> Iterator[str]:
    """Yields the URI of a new folder, which is deleted afterwards unless the work succeeds and is to be kept.

    `name` begins its name. The storage's own lock is not needed.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    place = StorageLayout(storage.uri).scratch
    for left_over in storage.list(place):
        holder = read_holder(Storage(left_over.uri))
        if holder is not None and not holder.alive():
            storage.delete(left_over.uri)
    folder, done = f"{place}/{name}-{uuid.uuid4().hex[:8]}", False
    try:
        with StorageLock(folder, LockOwner.current()):
            yield folder
            done = True
    finally:
        if not (keep and done):
            storage.delete(folder)
