"""Whether the log of a Delta table still says what its writers have written to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.delta_commits import commit_version, log_version, read_version_checksum
from penstock.storage.filesystem import Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MOST_FILES: Final = 10_000
"""Of larger tables the files are not counted: it would take a run longer than the rest of its checks."""
_MOST_BYTES_READ: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogDamage:
    """What is wrong, as the end of "its log …"; `emptied` are the commits that hold nothing, and should."""

    reason: str
    emptied: tuple[int, ...]


def log_damage(table: DeltaTable) -> LogDamage | None:
    """Returns what a table's log has lost; None when nothing is known to be wrong.

    A commit whose file is empty, as after a power loss, or that ends after one of its lines, reads like one that did
    less. Spark notes beside each commit how many files the table has then (`N.crc`), and this counts them. A table
    that something else than Spark has written last, or of more than 10,000 files, is not judged.
    """
    storage, version = Storage(table.table_uri), table.version()
    noted = _noted_files(storage, version)
    if noted is None or noted > _MOST_FILES:
        return None
    counted = len(table.file_uris())
    if counted == noted:
        return None
    emptied = _emptied(storage)
    which = f"; commit {', '.join(str(each) for each in emptied)} is empty" if emptied else ""
    return LogDamage(f"tells of {counted} files, and had {noted} when version {version} was written{which}", emptied)


def damaged_files(uri: str) -> Iterator[tuple[str, str]]:
    """Yields the files of a table's log that do not fit Hadoop's checksum beside them, and what is wrong, as "it …".

    Spark cannot read them; other readers take what they hold. Only those are read that a reader needs: the newest
    checkpoint, and the commits after it. An object store keeps no such checksums.
    """
    log = CheckpointFolder.open(f"{uri}/_delta_log")
    checkpoints = [number for name in log.files if ".checkpoint." in name and (number := log_version(name)) is not None]
    newest = max(checkpoints, default=-1)
    for name in sorted(log.checksums):
        number, file = log_version(name), log.files[name]
        if number is None or number < newest or commit_version(name) == newest:
            continue
        if file.size <= _MOST_BYTES_READ and not log.fits_checksum(name, log.read_unchecked(name)):
            yield file.uri, "does not fit its checksum"


def _noted_files(storage: Storage, version: int) -> int | None:
    """Returns how many files the newest version has by its checksum; None for none that can be read, as for Spark."""
    try:
        noted = json.loads(read_version_checksum(storage, version) or "null")
    except ValueError:
        return None
    files = noted.get("numFiles") if isinstance(noted, dict) else None
    return files if isinstance(files, int) else None


def _emptied(storage: Storage) -> tuple[int, ...]:
    """Returns the versions whose commits are empty files; no writer makes any."""
    empty = (file.name for file in storage.list("_delta_log") if file.size == 0)
    return tuple(sorted(version for name in empty if (version := commit_version(name)) is not None))
