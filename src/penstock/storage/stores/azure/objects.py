"""Whole blobs, written only where no other was faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import ConfigError
from penstock.storage.stores.azure.client import container_of, reason
from penstock.storage.stores.azure.settings import AzurePlace
from penstock.storage.stores.errors import object_store_error
from penstock.storage.stores.store import ABSENT, OvertakenError

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient

_OVERTAKEN = frozenset({"ConditionNotMet", "BlobAlreadyExists", "BlobNotFound"})


class AzureBlob:
    """One blob, under the settings of ABFS: see `StoredObject`.

    Raises:
        ConfigError: as for `container_of`.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._key = AzurePlace.of(uri).key
        container_of(uri)

    @property
    def _blob(self) -> BlobClient:
        """By the client of the credentials that hold now."""
        return container_of(self.uri).get_blob_client(self._key)

    def read(self) -> tuple[bytes, str]:
        """Returns the content and its version; nothing, and ABSENT, when the blob is not there."""
        try:
            with self._asking():
                stream = self._blob.download_blob()
                return stream.readall(), str(stream.properties.etag)
        except OvertakenError:
            return b"", ABSENT

    def put(self, content: bytes) -> None:
        """Replaces the blob, whatever it is."""
        with self._asking():
            self._blob.upload_blob(content, overwrite=True)

    def put_over(self, content: bytes, version: str) -> str:
        """Replaces that version of the blob, or creates it over ABSENT; returns the new version.

        Raises:
            OvertakenError: it is another version by now.
        """
        with self._asking():
            if version == ABSENT:
                return str(self._blob.upload_blob(content, overwrite=False)["etag"])
            from azure.core import MatchConditions

            condition = MatchConditions.IfNotModified
            answer = self._blob.upload_blob(content, overwrite=True, etag=version, match_condition=condition)
            return str(answer["etag"])

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from azure.core.exceptions import AzureError

        try:
            yield
        except AzureError as error:
            if getattr(error, "error_code", None) in _OVERTAKEN:
                raise OvertakenError(self.uri) from error
            answer = reason(error)
            refused = object_store_error(self.uri, OSError(answer))
            raise refused or ConfigError("STORAGE_NOT_WRITABLE", path=self.uri, reason=answer) from error
