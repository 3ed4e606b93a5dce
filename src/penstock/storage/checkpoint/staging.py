"""A checkpoint is made beside the one whose place it takes, and that one is kept, never deleted.

Until the new one is whole, whoever looks finds the old one. What a process that died has left half made goes with the
next one that is begun.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self

from penstock.storage.checkpoint.folder import INHERITED, CheckpointFolder, checksum_of, replace_file
from penstock.storage.exchange import exchange
from penstock.storage.filesystem import Storage

_CHUNK: Final = 4 * 1024 * 1024


def copy_file(source: Storage, name: str, target: Storage, location: str) -> tuple[int, str]:
    """Copies a file to where none is; returns its bytes and its SHA-256 in hexadecimal.

    Raises:
        FileNotFoundError: there is no file `name`.
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    digest, size = hashlib.sha256(), 0
    with source.open(name) as read, target.create(location) as written:
        while chunk := read.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            left = memoryview(chunk)
            while left:  # a disk that is getting full takes a part without an error
                left = left[written.write(left) :]
    return size, digest.hexdigest()


def copy_files(folder: CheckpointFolder, names: Iterable[str], target: Storage, uri: str) -> None:
    """Copies files of a checkpoint to `uri` in another storage, with the checksums beside them.

    Raises:
        FileNotFoundError, ConfigError: as `copy_file`.
    """
    for name in names:
        for each in (name, checksum_of(name)) if name in folder.checksums else (name,):
            copy_file(folder.storage, each, target, f"{uri}/{each}")


def begin_new_query(storage: Storage, place: str, committed: int | None) -> None:
    """Gives the checkpoint at `place` another query id, and notes which batches its table holds under the old one."""
    replace_file(storage, f"{place}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    replace_file(storage, f"{place}/{INHERITED}", json.dumps({"batch": committed}))


_STAGED: Final = ".restoring-"
_PREVIOUS: Final = ".before-"


@dataclass(frozen=True, slots=True)
class StagedCheckpoint:
    """A checkpoint in the making, at `uri`; the one at `place` goes to `previous`. All are URIs in `storage`."""

    storage: Storage
    place: str
    uri: str
    previous: str

    @classmethod
    def begin(cls, storage: Storage, place: str) -> Self:
        """Makes room beside the checkpoint at `place`, which need not be there; the caller holds the storage's lock.

        Raises:
            ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
        """
        flow = place.rpartition("/")[0]
        for left_over in storage.list(flow):
            if _STAGED in left_over.name:
                storage.delete(left_over.uri)
        stamp = _stamp()
        return cls(storage, place, f"{place}{_STAGED}{stamp}", f"{place}{_PREVIOUS}{stamp}")

    @property
    def files(self) -> Storage:
        """The files of the new checkpoint, by their path in it."""
        return Storage(self.uri)

    def take_place(self) -> str | None:
        """Puts the new checkpoint in its place; returns where the old one is kept, None when there was none.

        When the process or the machine dies, the old one is there, or the whole new one, or a note by which the next
        holder of the storage's lock completes the step.

        Raises:
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        previous = self.previous if self.storage.exists(self.place) else None
        self.storage.sync(self.uri)
        exchange(self.storage, self.place, previous=self.previous, staged=self.uri)
        return previous

    def give_up(self) -> None:
        """Deletes what has been made."""
        self.storage.delete(self.uri)


def retire_checkpoint(storage: Storage, place: str) -> str:
    """Takes a checkpoint away; returns where it is kept. The caller holds the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    previous = f"{place}{_PREVIOUS}{_stamp()}"
    exchange(storage, place, previous=previous)
    return previous


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
