"""The blobs of an account as a file system of fsspec: folders are what names have in common before a slash."""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from penstock.storage.object_stores.azure.client import container_of, reason

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient

_Entry = dict[str, Any]
_COPY_SECONDS: Final = 300.0
_FOLDER: Final = "hdi_isfolder"
"""What ABFS notes at an empty blob that stands for a folder."""


class AzureFiles(AbstractFileSystem):  # type: ignore[misc]
    """Paths are `CONTAINER@HOST/KEY`, or such URIs. Raises OSError with what the store says."""

    cachable = False

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._scheme = scheme

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return str(path).rpartition("://")[2].rstrip("/")

    def _blob(self, path: str) -> BlobClient:
        path = self._strip_protocol(path)
        return container_of(f"{self._scheme}://{path}").get_blob_client(path.partition("/")[2])

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Returns the entries of a folder, or the file itself."""
        path = self._strip_protocol(path)
        found = self._listed(path, delimiter="/")
        if not found and (entry := self._file(path)) is not None:
            found = {path: entry}
        if not found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return list(found.values()) if detail else list(found)

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **_: Any
    ) -> Any:
        """Returns all files below a folder, or the file itself; markers of folders too for `withdirs`."""
        path = self._strip_protocol(path)
        found = self._listed(path)
        if not found and (entry := self._file(path)) is not None:
            found = {path: entry}
        kept = {name: entry for name, entry in found.items() if withdirs or entry["type"] == "file"}
        return kept if detail else list(kept)

    def info(self, path: str, **_: Any) -> _Entry:
        """Returns what is known of a file or a folder."""
        path = self._strip_protocol(path)
        if (entry := self._file(path)) is not None:
            return entry
        if self._is_prefix(path):
            return _folder(path)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def exists(self, path: str, **_: Any) -> bool:
        """Whether a file or folder is there; other than fsspec's own, it does not take a refusal for a no."""
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    def isdir(self, path: str) -> bool:
        """Whether a folder is there."""
        try:
            return bool(self.info(path)["type"] == "directory")
        except FileNotFoundError:
            return False

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Nothing: a key needs no folder, and a blob for one would be listed."""

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

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes a file, or a folder with all that it holds: what is deepest first, as accounts with folders ask."""
        path = self._strip_protocol(path)
        names = list(self.find(path, withdirs=True)) if recursive else []
        for name in [*sorted(names, reverse=True), path]:
            try:
                self.rm_file(name)
            except FileNotFoundError:
                continue  # a folder without a marker

    def _open(self, path: str, mode: str = "rb", block_size: Any = None, **_: Any) -> Any:
        if mode == "rb":
            return _Reading(self, path, mode, block_size or "default")
        if mode in {"wb", "xb"}:
            return _Written(self, path)
        raise NotImplementedError(mode)

    def _file(self, path: str) -> _Entry | None:
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

    def _listed(self, path: str, delimiter: str | None = None) -> dict[str, _Entry]:
        container, _, key = path.partition("/")
        prefix = f"{key}/" if key else ""
        found: dict[str, _Entry] = {}
        with _asking(path):
            client = container_of(f"{self._scheme}://{container}")
            if delimiter is None:
                blobs: Any = client.list_blobs(name_starts_with=prefix, include=["metadata"])
            else:
                blobs = client.walk_blobs(name_starts_with=prefix, include=["metadata"], delimiter=delimiter)
            for blob in blobs:
                name = f"{container}/{blob.name.rstrip('/')}"
                if blob.name == prefix:
                    continue
                # A folder may be there twice: by its marker, and by what is in it.
                found[name] = _folder(name) if blob.name.endswith("/") or name in found else _entry(name, blob)
        return found


class _Reading(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        return bytes(self.fs.cat_file(self.path, start, end))


class _Written(io.BytesIO):
    """What is written is in the store when it is closed."""

    def __init__(self, files: AzureFiles, path: str) -> None:
        super().__init__()
        self._files, self._path = files, path

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._files.pipe_file(self._path, content)


def _folder(path: str) -> _Entry:
    return {"name": path, "size": 0, "type": "directory"}


def _entry(path: str, properties: Any) -> _Entry:
    metadata: Mapping[str, str] = {name.casefold(): value for name, value in (properties.metadata or {}).items()}
    if metadata.get(_FOLDER) == "true":
        return _folder(path)
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
