"""The objects of a store as a file system of fsspec: folders are what names have in common before a slash."""

from __future__ import annotations

import errno
import io
import os
from typing import Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

Entry = dict[str, Any]
"""What fsspec knows of a file or a folder: `name`, `size`, `type`, `mtime`."""


class ObjectFiles(AbstractFileSystem):  # type: ignore[misc]
    """Paths are `BUCKET/KEY`, or such URIs. Raises OSError with what the store says.

    A subclass has the requests: `_file`, `_listed`, `_is_prefix`, `pipe_file`, `cat_file`, `cp_file` and `rm_file`.
    """

    cachable = False

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._scheme = scheme

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return str(path).rpartition("://")[2].rstrip("/")

    def _file(self, path: str) -> Entry | None:
        """What is known of an object, None for none."""
        raise NotImplementedError

    def _listed(self, path: str, *, recursive: bool) -> dict[str, Entry]:
        """What is in a folder, by path, and in the folders of it; markers of folders are folders."""
        raise NotImplementedError

    def _is_prefix(self, path: str) -> bool:
        """Whether there is anything in a folder; that a bucket is there, too."""
        raise NotImplementedError

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Returns the entries of a folder, or the file itself."""
        path = self._strip_protocol(path)
        found = self._listed(path, recursive=False)
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
        found = self._listed(path, recursive=True)
        if not found and (entry := self._file(path)) is not None:
            found = {path: entry}
        kept = {name: entry for name, entry in found.items() if withdirs or entry["type"] == "file"}
        return kept if detail else list(kept)

    def info(self, path: str, **_: Any) -> Entry:
        """Returns what is known of a file or a folder."""
        path = self._strip_protocol(path)
        if (entry := self._file(path)) is not None:
            return entry
        if self._is_prefix(path):
            return folder_entry(path)
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
        """Nothing: a key needs no folder, and an object for one would be listed."""

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes a file, or a folder with all that it holds: what is deepest first, as stores with folders ask."""
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


class _Reading(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        return bytes(self.fs.cat_file(self.path, start, end))


class _Written(io.BytesIO):
    """What is written is in the store when it is closed."""

    def __init__(self, files: ObjectFiles, path: str) -> None:
        super().__init__()
        self._files, self._path = files, path

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._files.pipe_file(self._path, content)


def folder_entry(path: str) -> Entry:
    """Returns the entry of a folder."""
    return {"name": path, "size": 0, "type": "directory"}
