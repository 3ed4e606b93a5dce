"""HDFS as a file system of fsspec."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from penstock.storage.stores.hdfs.client import HdfsPlace, asking, client_of, replace, written_beside
from penstock.storage.stores.object_files import Entry, ObjectFiles, folder_entry

if TYPE_CHECKING:
    from hdfs_native import FileStatus


class HdfsFiles(ObjectFiles):
    """Paths are `AUTHORITY/PATH`, or such URIs. Other than in an object store, a folder may be empty."""

    def _uri(self, path: str) -> str:
        return f"{self._scheme}://{self._strip_protocol(path)}"

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Returns the entries of a folder, or the file itself."""
        place = HdfsPlace.of(self._uri(path))
        with asking(path):
            statuses = list(client_of(self._uri(path)).list_status(place.path, False))
        found = [_entry(place.authority, each) for each in statuses]
        return found if detail else [entry["name"] for entry in found]

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Makes a folder and its parents."""
        with asking(path):
            client_of(self._uri(path)).mkdirs(HdfsPlace.of(path).path, 0o755, True)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Replaces a file in one step."""
        replace(self._uri(path), value)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Returns the bytes from `start` to `end`, which are not negative."""
        with asking(path):
            reader = client_of(self._uri(path)).read(HdfsPlace.of(path).path)
            first = start or 0
            last = len(reader) if end is None else min(end, len(reader))
            return bytes(reader.read_range(first, last - first)) if last > first else b""

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies a file; it is there when it is whole."""
        source, target = HdfsPlace.of(path1), HdfsPlace.of(path2)
        reading, client = client_of(self._uri(path1)), client_of(self._uri(path2))
        with asking(path1), written_beside(client, target.path, reading.read(source.path)) as temporary:
            client.rename(temporary, target.path, True)

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        self.rm(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes a file, or a folder with all that it holds."""
        with asking(path):
            client_of(self._uri(path)).delete(HdfsPlace.of(str(path)).path, recursive)

    def _file(self, path: str) -> Entry | None:
        place = HdfsPlace.of(path)
        with suppress(FileNotFoundError), asking(path):
            return _entry(place.authority, client_of(self._uri(path)).get_file_info(place.path))
        return None

    def _listed(self, path: str, *, recursive: bool) -> dict[str, Entry]:
        place = HdfsPlace.of(path)
        found: dict[str, Entry] = {}
        with suppress(FileNotFoundError), asking(path):
            for status in client_of(self._uri(path)).list_status(place.path, recursive):
                entry = _entry(place.authority, status)
                found[entry["name"]] = entry
        return found

    def _is_prefix(self, path: str) -> bool:
        return False


def _entry(authority: str, status: FileStatus) -> Entry:
    name = f"{authority}{status.path}"
    if status.isdir:
        return folder_entry(name)
    return {"name": name, "size": status.length, "type": "file", "mtime": status.modification_time / 1000}
