"""The objects of Google Cloud Storage as files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from penstock.storage.stores.gcs.client import NOT_FOUND, GcsAnswerError, GcsClient
from penstock.storage.stores.gcs.settings import GcsPlace
from penstock.storage.stores.object_files import Entry, ObjectFiles, folder_entry


class GcsFiles(ObjectFiles):
    """Paths are `BUCKET/KEY`, or such URIs."""

    def _client(self, path: str) -> GcsClient:
        return GcsClient(f"{self._scheme}://{self._strip_protocol(path)}")

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Replaces a file."""
        with _asking(path):
            self._client(path).put(GcsPlace.of(path), value)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Returns the bytes from `start` to `end`, which are not negative."""
        start = start or 0
        if end is not None and end <= start:
            return b""
        bytes_range = f"bytes={start}-{'' if end is None else end - 1}" if start or end is not None else ""
        with _asking(path):
            return self._client(path).content(GcsPlace.of(path), bytes_range)[0]

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies a file, inside of the store."""
        with _asking(path1):
            self._client(path1).copy(GcsPlace.of(path1), GcsPlace.of(path2))

    def rm_file(self, path: str) -> None:
        """Removes a file, or the marker of a folder."""
        place = GcsPlace.of(path)
        try:
            with _asking(path):
                self._client(path).delete(place)
        except FileNotFoundError:
            with _asking(path):
                self._client(path).delete(GcsPlace(place.bucket, f"{place.key}/"))

    def _file(self, path: str) -> Entry | None:
        place = GcsPlace.of(path)
        if not place.key:
            return None
        try:
            with _asking(path):
                return _entry(path, self._client(path).metadata(place))
        except FileNotFoundError:
            return None

    def _is_prefix(self, path: str) -> bool:
        place = _folder(path)
        with _asking(path):
            page = next(self._client(path).pages(place, maxResults="1"))
        return bool(page.get("items"))

    def _listed(self, path: str, *, recursive: bool) -> dict[str, Entry]:
        place = _folder(path)
        found: dict[str, Entry] = {}
        with _asking(path):
            for page in self._client(path).pages(place, **({} if recursive else {"delimiter": "/"})):
                for prefix in page.get("prefixes", ()):
                    name = f"{place.bucket}/{prefix.rstrip('/')}"
                    found[name] = folder_entry(name)
                for item in page.get("items", ()):
                    name = f"{place.bucket}/{item['name'].rstrip('/')}"
                    if item["name"] != place.key:
                        found[name] = folder_entry(name) if item["name"].endswith("/") else _entry(name, item)
        return found


def _folder(path: str) -> GcsPlace:
    place = GcsPlace.of(path)
    return GcsPlace(place.bucket, f"{place.key}/" if place.key else "")


def _entry(path: str, known: Mapping[str, Any]) -> Entry:
    modified = datetime.fromisoformat(known["updated"])
    return {"name": path, "size": int(known["size"]), "type": "file", "mtime": modified}


@contextmanager
def _asking(path: str) -> Iterator[None]:
    try:
        yield
    except GcsAnswerError as error:
        if error.status == NOT_FOUND:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        raise OSError(str(error)) from error
