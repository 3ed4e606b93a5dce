"""Whole files, written only where no other was faster.

HDFS compares no versions, but of two that rename to one free name it refuses one. So the successor of a version is the
file that gets the name made of that version; then it takes the file's own name. Who finds that name taken waits for
the other, which may have died in between, and then finishes its work.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from penstock.errors import ConfigError
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.hdfs.client import HdfsPlace, asking, client_of, replace, written_beside
from penstock.storage.stores.store import ABSENT, OvertakenError

if TYPE_CHECKING:
    from hdfs_native import Client

_PATIENCE_SECONDS: Final = 2.0
"""How long another has to take the file's name after that of the version; it needs milliseconds."""

_ATTEMPTS: Final = 3


class HdfsFile:
    """One file: see `StoredObject`. Its version is a digest of its content.

    Raises:
        ConfigError: as for `client_of`.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._client: Client = client_of(uri)
        self._path = HdfsPlace.of(uri).path

    def read(self) -> tuple[bytes, str]:
        """Returns the content and its version; nothing, and ABSENT, when the file is not there."""
        with self._telling():
            return self._read()

    def put(self, content: bytes) -> None:
        """Replaces the file, whatever it is."""
        with self._telling():
            replace(self.uri, content)

    def put_over(self, content: bytes, version: str) -> str:
        """Replaces that version of the file, or creates it over ABSENT; returns the new version.

        Raises:
            OvertakenError: it is another version by now.
        """
        with self._telling():
            try:
                if version == ABSENT:
                    replace(self.uri, content, overwrite=False)
                else:
                    self._succeed(content, version)
            except FileExistsError as error:
                raise OvertakenError(self.uri) from error
        return _version(content)

    def _succeed(self, content: bytes, version: str) -> None:
        successor = self._successor(version)
        with asking(self.uri), written_beside(self._client, self._path, [content]) as temporary:
            try:
                self._client.rename(temporary, successor, False)
            except FileExistsError:
                self._finish(version)
                raise
            found = self._read()[1]
            if found not in {version, _version(content)}:
                self._client.delete(successor, False)
                raise OvertakenError(self.uri)
            with suppress(FileNotFoundError):  # another has finished it
                self._client.rename(successor, self._path, True)

    def _finish(self, version: str) -> None:
        """Waits until the successor of a version is in its place, and else puts it there."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._read()[1] == version:
            if time.monotonic() > deadline:
                with suppress(FileNotFoundError):
                    self._client.rename(self._successor(version), self._path, True)
                return
            time.sleep(0.05)

    def _successor(self, version: str) -> str:
        folder, _, name = self._path.rpartition("/")
        return f"{folder}/.{name}.after-{version}"

    def _read(self) -> tuple[bytes, str]:
        for attempt in range(_ATTEMPTS):
            try:
                with asking(self.uri):
                    content = bytes(self._client.read(self._path).read())
            except FileNotFoundError:
                return b"", ABSENT
            except OSError:
                if attempt + 1 == _ATTEMPTS:  # else it was replaced while it was read
                    raise
            else:
                return content, _version(content)
        raise AssertionError("not reached")

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except FileExistsError:
            raise
        except OSError as error:
            refused = object_store_error(self.uri, error)
            raise refused or ConfigError(
                "STORAGE_NOT_WRITABLE", path=self.uri, reason=error.strerror or error
            ) from error


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
