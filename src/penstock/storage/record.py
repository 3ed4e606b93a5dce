"""A small file that processes of several machines may write, each only over what it has read itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from penstock.storage.filesystem import Storage
from penstock.storage.stores.store import ABSENT, StoredObject
from penstock.storage.stores.stores import store_of


class Record(Protocol):
    """One such file. What is read and written inside of one `exclusive()` block belongs together."""

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps others out, as far as the storage can; see `Storage.exclusive`."""
        ...

    def read(self) -> str | None:
        """Returns the content, None when there is none."""
        ...

    def write(self, text: str) -> None:
        """Replaces what this object has read last; raises OvertakenError where it is there no more."""
        ...

    def clear(self) -> None:
        """Leaves no content, as `write`."""
        ...


def record(storage: Storage, location: str) -> Record:
    """Returns the file at `location`, a URI in the storage.

    Raises:
        ConfigError: for an object store as for `ObjectStore.stored_object`.
    """
    store = store_of(location)
    return _FileRecord(storage, location) if store is None else _ObjectRecord(store.stored_object(location))


class _FileRecord:
    """On a disk no other can write between a reader's reading and writing."""

    def __init__(self, storage: Storage, location: str) -> None:
        self._storage = storage
        self._location = location

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._storage.exclusive():
            yield

    def read(self) -> str | None:
        try:
            return self._storage.read_text(self._location)
        except FileNotFoundError:
            return None

    def write(self, text: str) -> None:
        self._storage.write_text_atomic(self._location, text)

    def clear(self) -> None:
        self._storage.delete(self._location)


class _ObjectRecord:
    """An object store compares versions at each write."""

    def __init__(self, stored: StoredObject) -> None:
        self._stored = stored
        self._version = ABSENT

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        yield

    def read(self) -> str | None:
        content, self._version = self._stored.read()
        return content.decode("utf-8", errors="replace") or None

    def write(self, text: str) -> None:
        self._version = self._stored.put_over(text.encode(), self._version)

    def clear(self) -> None:
        self.write("")  # a delete cannot spare another version
