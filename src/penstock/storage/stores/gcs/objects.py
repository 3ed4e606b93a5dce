"""Whole objects, written only where no other was faster: the store compares their generations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.errors import ConfigError
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.gcs.client import NOT_FOUND, OVERTAKEN, GcsAnswerError, GcsClient
from penstock.storage.stores.gcs.settings import GcsPlace
from penstock.storage.stores.store import ABSENT, OvertakenError

_NO_GENERATION: Final = "0"


class GcsObject:
    """One object, under the settings of Google's connector: see `StoredObject`.

    Raises:
        ConfigError: as for `GcsClient`.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._place = GcsPlace.of(uri)
        self._client = GcsClient(uri)

    def read(self) -> tuple[bytes, str]:
        """Returns the content and its version; nothing, and ABSENT, when the object is not there."""
        try:
            with self._asking():
                return self._client.content(self._place)
        except OvertakenError:
            return b"", ABSENT

    def put(self, content: bytes) -> None:
        """Replaces the object, whatever it is."""
        with self._asking():
            self._client.put(self._place, content)

    def put_over(self, content: bytes, version: str) -> str:
        """Replaces that version of the object, or creates it over ABSENT; returns the new version.

        Raises:
            OvertakenError: it is another version by now.
        """
        with self._asking():
            return self._client.put(self._place, content, version if version != ABSENT else _NO_GENERATION)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except GcsAnswerError as error:
            if error.status in {NOT_FOUND, OVERTAKEN}:
                raise OvertakenError(self.uri) from error
            refused = object_store_error(self.uri, error)
            raise refused or ConfigError("STORAGE_NOT_WRITABLE", path=self.uri, reason=error) from error
