"""Copies one file of a checkpoint, from one storage into another."""

from __future__ import annotations

import hashlib
from typing import Final

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
