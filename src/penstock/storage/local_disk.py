"""The local disk with the methods of a file system of fsspec, whose import takes as long as a short command."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from typing import IO, Any


class LocalDisk:
    """What `Storage` needs of fsspec's `LocalFileSystem`; paths are URIs or absolute."""

    def open(self, path: str, mode: str = "rb") -> IO[Any]:
        """Opens a file."""
        return open(local_path(path), mode)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Makes a folder and its parents."""
        os.makedirs(local_path(path), exist_ok=exist_ok)

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there; a link to nothing is not."""
        return os.path.exists(local_path(path))

    def isdir(self, path: str) -> bool:
        """Whether a folder is there."""
        return os.path.isdir(local_path(path))

    def info(self, path: str) -> dict[str, Any]:
        """Returns the name, size, type and time of a file or folder; of a link what it leads to."""
        place = local_path(path)
        return _entry(place, os.stat(place))

    def ls(self, path: str, detail: bool = True) -> list[dict[str, Any]]:
        """Returns the `info` of a folder's entries, or of a file; of a link only the size is of what it leads to."""
        place = local_path(path)
        try:
            return list(_entries(place))
        except NotADirectoryError:
            return [self.info(place)]

    def find(self, path: str, detail: bool = True) -> dict[str, dict[str, Any]]:
        """Returns all below a folder but the folders, by path; a link to a folder is not entered."""
        found: dict[str, dict[str, Any]] = {}
        folders = [local_path(path)]
        while folders:
            try:
                for entry in self.ls(folders.pop()):
                    if entry["type"] == "directory":
                        folders.append(entry["name"])
                    else:
                        found[entry["name"]] = entry
            except FileNotFoundError:  # deleted meanwhile
                continue
        return found

    def rm(self, path: str, recursive: bool = False) -> None:
        """Deletes a file, a link or, `recursive`, a folder."""
        place = local_path(path)
        if recursive and not os.path.islink(place):
            shutil.rmtree(place)
        else:
            os.remove(place)

    def invalidate_cache(self) -> None:
        """Nothing: nothing is kept."""

    @staticmethod
    def _strip_protocol(path: str) -> str:
        return local_path(path)


def local_path(uri: str) -> str:
    """Returns the path of a local URI; a path is returned as it is."""
    return "/" + uri.removeprefix("file:").lstrip("/") if uri.startswith("file:") else uri


def _entries(folder: str) -> Iterator[dict[str, Any]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = _entry(entry.path, entry.stat(follow_symlinks=False))
            except FileNotFoundError:  # deleted meanwhile
                continue
            if entry.is_symlink():
                found["size"] = os.path.getsize(entry.path) if os.path.exists(entry.path) else 0
            yield found


def _entry(path: str, known: os.stat_result) -> dict[str, Any]:
    kind = "directory" if stat.S_ISDIR(known.st_mode) else "file" if stat.S_ISREG(known.st_mode) else "other"
    return {"name": path, "size": known.st_size, "type": kind, "mtime": known.st_mtime}
