"""The blobs of an account as files."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from penstock.storage.stores.azure.client import container_of, reason
from penstock.storage.stores.object_files import Entry, ObjectFiles, folder_entry

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient

_COPY_SECONDS: Final = 300.0
_FOLDER: Final = "hdi_isfolder"
"""What ABFS notes at an empty blob that stands for a folder."""


class AzureFiles(ObjectFiles):
    """Paths are `CONTAINER@HOST/KEY`, or such URIs."""

    def _blob(self, path: str) -> BlobClient:
        path = self._strip_protocol(path)
        return container_of(f"{self._scheme}://{path}").get_blob_client(path.partition("/")[2])

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Replaces a file."""
        with _asking(path):
            self._blob(path).upload_blob(value, overwrite=True)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Returns the bytes from `start` to `end`, which are not negative."""
        start = start or 0
        if end is not None and end <= start:
            return b""
        with _asking(path):
            return self._blob(path).download_blob(start, None if end is None else end - start).readall()

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies a file, inside of the store where both are in one account."""
        source, target = self._blob(path1), self._blob(path2)
        with _asking(path1):
            if source.primary_hostname != target.primary_hostname:
                target.upload_blob(source.download_blob().chunks(), overwrite=True)
                return
            status: Any = target.start_copy_from_url(source.url)["copy_status"]
            deadline = time.monotonic() + _COPY_SECONDS
            while status == "pending" and time.monotonic() < deadline:
                time.sleep(0.2)
                status = target.get_blob_properties().copy.status
            if status != "success":
                raise OSError(f"the copy to {path2} has ended as {status!r}")

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        with _asking(path):
            self._blob(path).delete_blob()

    def _file(self, path: str) -> Entry | None:
        """What is known of a blob, None for none."""
        if "/" not in path:
            return None
        try:
            with _asking(path):
                properties = self._blob(path).get_blob_properties()
        except FileNotFoundError:
            return None
        return _entry(path, properties)

    def _is_prefix(self, path: str) -> bool:
        container, _, key = path.partition("/")
        with _asking(path):
            client = container_of(f"{self._scheme}://{container}")
            pages = client.list_blobs(name_starts_with=f"{key}/" if key else None, results_per_page=1)
            return next(iter(pages), None) is not None

    def _listed(self, path: str, *, recursive: bool) -> dict[str, Entry]:
        container, _, key = path.partition("/")
        prefix = f"{key}/" if key else ""
        found: dict[str, Entry] = {}
        with _asking(path):
            client = container_of(f"{self._scheme}://{container}")
            if recursive:
                blobs: Any = client.list_blobs(name_starts_with=prefix, include=["metadata"])
            else:
                blobs = client.walk_blobs(name_starts_with=prefix, include=["metadata"], delimiter="/")
            for blob in blobs:
                name = f"{container}/{blob.name.rstrip('/')}"
                if blob.name == prefix:
                    continue
                # A folder may be there twice: by its marker, and by what is in it.
                found[name] = folder_entry(name) if blob.name.endswith("/") or name in found else _entry(name, blob)
        return found


def _entry(path: str, properties: Any) -> Entry:
    metadata: Mapping[str, str] = {name.casefold(): value for name, value in (properties.metadata or {}).items()}
    if metadata.get(_FOLDER) == "true":
        return folder_entry(path)
    return {"name": path, "size": properties.size, "type": "file", "mtime": properties.last_modified}


@contextmanager
def _asking(path: str) -> Iterator[None]:
    from azure.core.exceptions import AzureError

    try:
        yield
    except AzureError as error:
        code = getattr(error, "error_code", None)
        # The answer to a HEAD has no body, and so no name but its status.
        if code == "BlobNotFound" or (getattr(error, "status_code", None) == 404 and code != "ContainerNotFound"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        raise OSError(reason(error)) from error
