"""Copies files of a checkpoint, from one storage into another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from penstock.storage.checkpoint.folder import CheckpointFolder, checksum_of
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
