"""File systems by URI, the storage layout and the lock."""

from penstock.storage.filesystem import Storage, StoredFile
from penstock.storage.layout import StorageLayout
from penstock.storage.local_disk import local_path
from penstock.storage.lock import (
    LockHolder,
    LockOwner,
    StorageLock,
    is_locked,
    lock_for_command,
    read_holder,
    refuse_if_locked,
    without_values,
)

__all__ = [
    "LockHolder",
    "LockOwner",
    "Storage",
    "StorageLayout",
    "StorageLock",
    "StoredFile",
    "is_locked",
    "local_path",
    "lock_for_command",
    "read_holder",
    "refuse_if_locked",
    "without_values",
]
