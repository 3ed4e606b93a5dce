"""A folder of this machine that has only files, listed without Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from penstock.storage import local_path

_PLAIN_PATH = re.compile(r"file:(//)?/[^*?{}\[\]\\:]*")


def flat_folder(path: str) -> list[tuple[str, int, int]] | None:
    """Returns path, bytes and modification time in epoch milliseconds of each file that Spark would list there.

    None where only Spark knows: another file system, a glob, folders inside, the log of a file sink, names that
    Hadoop spells in its own way, a folder that is not there. `path` is a URI.
    """
    files = []
    try:
        for entry in _files(path):
            if not entry.name.isascii():
                return None
            status = entry.stat()
            files.append((entry.path, status.st_size, status.st_mtime_ns // 1_000_000))
    except OSError:
        return None
    return files


def is_flat(path: str) -> bool:
    """Returns whether `flat_folder` lists the folder; that does not inspect each file."""
    try:
        return all(entry.name.isascii() for entry in _files(path))
    except OSError:
        return False


def _files(path: str) -> Iterator[os.DirEntry[str]]:
    """Yields the files; NotADirectoryError where it is not a folder of files only."""
    if not _PLAIN_PATH.fullmatch(path) or ".." in path:
        raise NotADirectoryError(path)
    with os.scandir(os.path.normpath(local_path(path))) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name.endswith("._COPYING_"):
                continue
            if name.startswith("_") and "=" not in name and "metadata" not in name:
                continue
            if name.startswith("_") or ":" in name or entry.is_dir():
                raise NotADirectoryError(path)
            yield entry
