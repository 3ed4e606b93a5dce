"""Whether the log of a Delta table still says what its writers have written to it, if they have got to that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.whole_files import MOST_BYTES_READ
from penstock.storage.delta.commits import (
    commit_version,
    files_of,
    log_version,
    parse_commit,
    read_commit,
    read_version_checksum,
)
from penstock.storage.filesystem import Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable

_MOST_FILES: Final = 10_000
"""Of larger tables the files are not counted: it would take a run longer than the rest of its checks."""


@dataclass(frozen=True, slots=True)
class LogDamage:
    """What is wrong, as the end of "its log …"; `changed` are the commits that are not what was written."""

    reason: str
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _VersionChecksum:
    """What Delta notes beside a commit: how many files the table has then and their names, and which commit it is.

    Without the folders of the files, which each writer encodes in its own way. Of many files there are no names.
    """

    files: int
    names: frozenset[str] | None
    identity: str

    def fits(self, uris: list[str]) -> bool:
        """Whether these are all files of the table."""
        return len(uris) == self.files and self.names in {None, _file_names(uris)}

    def follows(self, before: _VersionChecksum, commit: str) -> bool:
        """Whether a commit makes this of what was before."""
        added, removed = map(_file_names, files_of(commit))
        if self.names is None or before.names is None:
            return self.files == before.files + len(added) - len(removed)
        return self.names == (before.names - removed) | added


def log_damage(table: DeltaTable, uri: str) -> LogDamage | None:
    """Returns what the log of the table at `uri` has lost; None when nothing is known to be wrong.

    A commit whose file is empty, as after a power loss, that ends after one of its lines, or in whose place there is
    another one, reads like any other. Spark notes beside each commit which files the table has then (`N.crc`), and
    this compares them. A table that something else than Spark has written last, or of more than 10,000 files, is not
    judged.
    """
    storage, version = Storage(uri), table.version()
    noted = _noted(storage, version)
    if noted is None or noted.files > _MOST_FILES:
        return None
    uris = table.file_uris()
    if noted.fits(uris):
        return None
    changed = tuple(_changed_commits(storage, version))
    which = f"; what commit {', '.join(map(str, changed))} holds is not what was written" if changed else ""
    had = f"when version {version} was written{which}"
    if len(uris) == noted.files:
        return LogDamage(f"tells of other files than it had {had}", changed)
    return LogDamage(f"tells of {len(uris)} files, and had {noted.files} {had}", changed)


def remove_unfinished_log(table: str) -> None:
    """Removes what the interrupted creation of a table has left: a log without a file, in a folder without one.

    Delta takes such a folder for a table, which it then does not find.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    storage = Storage(table)
    if storage.exists("_delta_log") and all(_is_temporary(file.name) for file in storage.walk()):
        storage.delete("_delta_log")


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
        if file.size <= MOST_BYTES_READ and not log.fits_checksum(name, log.read_unchecked(name)):
            yield file.uri, "does not fit its checksum"


def _noted(storage: Storage, version: int) -> _VersionChecksum | None:
    """Returns what is noted beside a commit; None for nothing that can be read, as for Spark."""
    try:
        noted = json.loads(read_version_checksum(storage, version) or "null")
        names = noted.get("allFiles")
        return _VersionChecksum(
            int(noted["numFiles"]),
            None if names is None else _file_names(str(each["path"]) for each in names),
            str(noted.get("txnId") or ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _changed_commits(storage: Storage, newest: int) -> Iterator[int]:
    """Yields the commits of the log, newest first, that do not fit what is noted beside them and the one before."""
    for version in range(newest, -1, -1):
        noted, before = _noted(storage, version), _noted(storage, version - 1)
        try:
            content = read_commit(storage, version)
            if content is None:
                return
            sound = bool(content.strip())
            if noted is not None:
                sound = sound and noted.identity == parse_commit(version, content).identity
                sound = sound and (before is None or noted.follows(before, content))
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            yield version


def _is_temporary(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder == "_delta_log" and name.startswith(".")


def _file_names(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.rpartition("/")[2] for path in paths)
