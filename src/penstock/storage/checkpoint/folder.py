"""One checkpoint's folder, listed once."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from penstock.storage.checkpoint.logs import (
    DamagedFile,
    PlannedBatch,
    json_object,
    parse_planned_batch,
    parse_query_id,
)
from penstock.storage.filesystem import Storage, StoredFile

INHERITED: Final = "penstock-restored.json"
"""Penstock's own file in a checkpoint that got a new query id; Spark does not read it."""

REWINDING: Final = "penstock-rewind.json"
"""Penstock's own file in a checkpoint that is about to go back to an earlier batch, with its table."""

_CHECKSUM_HEADER = struct.Struct(">4si")
_MAGIC = b"crc\0"
_TEMPORARY = re.compile(r"\.[0-9a-f]{8}-[0-9a-f-]{27}\.tmp$")


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """The files of one checkpoint as they were when it was opened, by their path in it.

    Hadoop's checksums and what an interrupted write left over are not among `files`.
    """

    uri: str
    storage: Storage
    files: Mapping[str, StoredFile]
    checksums: frozenset[str]

    @classmethod
    def open(cls, uri: str) -> CheckpointFolder:
        """Lists the folder; a missing one has no files.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        storage = Storage(uri)
        return cls._of(uri, storage, {file.name: file for file in storage.walk()})

    @classmethod
    def open_without_state(cls, uri: str) -> CheckpointFolder:
        """Lists all but the state, which has most of the files: what a query's start reads first.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        storage = Storage(uri)
        found = {file.name: file for file in storage.list() if not file.is_directory}
        for log in ("offsets", "commits", "sources"):
            found |= {f"{log}/{file.name}": file for file in storage.walk(log)}
        return cls._of(uri, storage, found)

    @classmethod
    def open_first_files(cls, uri: str) -> CheckpointFolder:
        """Lists only what is in no folder, the query's id among it.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        storage = Storage(uri)
        return cls._of(uri, storage, {file.name: file for file in storage.list() if not file.is_directory})

    @classmethod
    def _of(cls, uri: str, storage: Storage, found: Mapping[str, StoredFile]) -> CheckpointFolder:
        files = {name: file for name, file in found.items() if not _is_beside(name)}
        checksums = frozenset(name for name in files if checksum_of(name) in found)
        return cls(uri, storage, MappingProxyType(files), checksums)

    @property
    def with_checksums(self) -> tuple[str, ...]:
        """The names of all files and of the checksums beside them, in order."""
        return tuple(sorted([*self.files, *(checksum_of(name) for name in self.checksums)]))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def changed(self) -> float | None:
        """When the newest file was written, in seconds since 1970."""
        return max((file.modified for file in self.files.values() if file.modified is not None), default=None)

    def numbers(self, folder: str) -> tuple[int, ...]:
        """Returns the numbers by which the files directly in `folder` are called, in their order."""
        prefix = f"{folder}/"
        names = (name.removeprefix(prefix) for name in self.files if name.startswith(prefix))
        return tuple(sorted(int(name) for name in names if name.isdecimal()))

    @property
    def planned(self) -> int | None:
        """The newest batch of the offset log."""
        return max(self.numbers("offsets"), default=None)

    @property
    def committed(self) -> int | None:
        """The newest batch of the commit log."""
        return max(self.numbers("commits"), default=None)

    @property
    def is_begun(self) -> bool:
        """Whether a query ever started with it; Penstock's own notes may be there before."""
        return "metadata" in self.files or self.planned is not None or self.committed is not None

    @property
    def in_flight(self) -> int | None:
        """The batch that was planned and not committed: the next start runs it again, with the same rows."""
        return self.planned if self.planned is not None and self.planned != self.committed else None

    def query_id(self) -> str:
        """Returns the query's id.

        Raises:
            FileNotFoundError: there is no `metadata`.
            DamagedFile: it cannot be read.
        """
        return parse_query_id(self.read("metadata"))

    def known_query_id(self) -> str | None:
        """Returns the query's id, None when it cannot be read."""
        with suppress(FileNotFoundError, DamagedFile):
            return self.query_id()
        return None

    def inherited_batch(self) -> int | None:
        """Returns the newest batch that was finished under another query id, before a restore gave it this one.

        Raises:
            DamagedFile: the note cannot be read.
        """
        if INHERITED not in self.files:
            return None
        batch = json_object(self.read(INHERITED).decode(errors="replace")).get("batch")
        return batch if isinstance(batch, int) else None

    def rewinding_to(self) -> int | None:
        """Returns the batch to which an interrupted rewind was to take the checkpoint and its table back.

        Raises:
            DamagedFile: the note cannot be read.
        """
        if REWINDING not in self.files:
            return None
        batch = json_object(self.read_unchecked(REWINDING).decode(errors="replace")).get("batch")
        if not isinstance(batch, int):
            raise DamagedFile("holds JSON of another form")
        return batch

    def planned_batch(self, number: int) -> PlannedBatch:
        """Returns one batch of the offset log.

        Raises:
            FileNotFoundError: it is not there.
            DamagedFile, UnknownVersion: it cannot be read.
        """
        return parse_planned_batch(self.read(f"offsets/{number}"))

    def read(self, name: str) -> bytes:
        """Returns a file's content, which is what was written as far as a checksum beside the file can show.

        Raises:
            FileNotFoundError: it is not there.
            DamagedFile: the checksum is of another content.
        """
        content = self.read_unchecked(name)
        if not self.fits_checksum(name, content):
            raise DamagedFile("does not fit its checksum")
        return content

    def read_unchecked(self, name: str) -> bytes:
        """Returns a file's content as it is now."""
        return self.storage.read_bytes(name)

    def fits_checksum(self, name: str, content: bytes) -> bool:
        """Whether a checksum beside the file, if there is one, is of this content."""
        return name not in self.checksums or _fits(content, self.storage.read_bytes(checksum_of(name)))

    def without(self, name: str) -> CheckpointFolder:
        """Returns the folder as it would be without one of its files."""
        return replace(self, files=MappingProxyType({each: file for each, file in self.files.items() if each != name}))

    def below(self, folder: str) -> Iterable[str]:
        """Returns the names of the files anywhere in `folder`, without the folder's own."""
        prefix = f"{folder}/"
        return (name.removeprefix(prefix) for name in self.files if name.startswith(prefix))


def numbers_in(storage: Storage, folder: str) -> list[int]:
    """Returns the numbers by which entries of a folder are called, in their order; it alone is listed.

    They are the batches of `offsets` and `commits`, and the generations of a flow's checkpoints.
    """
    return sorted(int(entry.name) for entry in storage.list(folder) if entry.name.isdecimal())


def replace_file(checkpoint: Storage, name: str, text: str) -> None:
    """Replaces a file of a checkpoint, or writes a new one; a process that dies in between leaves the old or the new.

    Hadoop's checksum would no longer fit, so it goes first: a file without one is read unchecked.
    """
    checkpoint.delete(checksum_of(name))
    checkpoint.write_text_atomic(name, text)


def checksum_of(name: str) -> str:
    """Returns the name of Hadoop's checksum of a file."""
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}.{file}.crc"


def _is_beside(name: str) -> bool:
    file = name.rpartition("/")[2]
    return file.startswith(".") or bool(_TEMPORARY.search(file))


def _fits(content: bytes, checksum: bytes) -> bool:
    """Compares with Hadoop's checksums, a CRC-32 for each so many bytes. Hadoop ignores a file that is none itself."""
    if len(checksum) < _CHECKSUM_HEADER.size:
        return True
    magic, step = _CHECKSUM_HEADER.unpack_from(checksum)
    if magic != _MAGIC or step <= 0:
        return True
    sums = b"".join(struct.pack(">I", zlib.crc32(content[at : at + step])) for at in range(0, len(content), step))
    return sums == checksum[_CHECKSUM_HEADER.size :]
