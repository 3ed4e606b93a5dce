"""`dbutils.fs`: looks at files through the path mapping; changes nothing but to make folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.config import resolve_path
from penstock.declare.dbutils.refusing import Refusing
from penstock.storage import Storage


class FileInfo(NamedTuple):
    """One entry of a folder.

    `path` begins with the folder as it was given; the names of folders end with `/`. `size` is in bytes,
    `modificationTime` in milliseconds since 1970; 0 where the file system keeps no time.
    """

    path: str
    name: str
    size: int
    modificationTime: int  # noqa: N815 - the name of Databricks

    def isDir(self) -> bool:
        """Whether it is a folder."""
        return self.name.endswith("/")

    def isFile(self) -> bool:
        """Whether it is a file."""
        return not self.isDir()


class Files(Refusing):
    """Answers `dbutils.fs`; a relative path is relative to the pipeline's folder.

    Raises:
        DefinitionError: PATH_NOT_MAPPED.
        FileNotFoundError: there is nothing at the path.
        ConfigError: the storage cannot be read.
    """

    name = "dbutils.fs"
    reason = "pipeline files are loaded to validate, too, and must not change data"

    def __init__(self, root: Path, paths: Mapping[str, str]) -> None:
        self._root = root
        self._paths = paths

    def ls(self, path: str) -> list[FileInfo]:
        """Returns the entries of a folder in the order of their names, or the one file at `path`."""
        storage = self._storage(path)
        if not storage.exists():
            raise FileNotFoundError(2, "No such file or directory", path)
        entries = storage.list()
        if len(entries) == 1 and not entries[0].is_directory and storage.uri.endswith(f"/{entries[0].name}"):
            [file] = entries
            return [FileInfo(path, file.name, file.size, _milliseconds(file.modified))]
        return [
            FileInfo(f"{path.rstrip('/')}/{name}", name, entry.size, _milliseconds(entry.modified))
            for entry in entries
            for name in [f"{entry.name}/" if entry.is_directory else entry.name]
        ]

    def head(self, file: str, max_bytes: int = 65_536) -> str:
        """Returns the first `max_bytes` bytes of a file as UTF-8 text."""
        return self._storage(file).read_bytes("", limit=max_bytes).decode("utf-8", errors="replace")

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return self._storage(path).exists()

    def mkdirs(self, dir: str) -> bool:
        """Makes a folder and those above it; True, also when it is there."""
        self._storage(dir).makedirs()
        return True

    def _storage(self, path: str) -> Storage:
        where = resolve_path(path, self._paths)
        return Storage(where if ":" in where.partition("/")[0] else str(self._root / where))


def _milliseconds(seconds: float | None) -> int:
    return 0 if seconds is None else int(seconds * 1000)
