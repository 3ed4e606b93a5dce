"""What single commits of a Delta table say of themselves, read from its log without loading the table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from penstock.storage.filesystem import Storage
from penstock.storage.local_disk import local_path

_LOOKED_BACK: Final = 100
_WRITES: Final = ("WRITE", "MERGE")
_COMMIT_FILE: Final = re.compile(r"(\d{20})\.json")
_LOG_FILE: Final = re.compile(r"(\d{20})\..*")


class CommitOutOfReach(Exception):
    """Whether a table has a commit cannot be known: the commits that would show it are too many, or gone."""


def commit_version(file_name: str) -> int | None:
    """Returns the version of which a file of `_delta_log` is the commit; None for a checkpoint and the like."""
    found = _COMMIT_FILE.fullmatch(file_name)
    return None if found is None else int(found[1])


def log_version(file_name: str) -> int | None:
    """Returns the version of a file of `_delta_log`, whatever it says of it; None for one of no version."""
    found = _LOG_FILE.fullmatch(file_name)
    return None if found is None else int(found[1])


def read_commit(table: Storage, version: int) -> str | None:
    """Returns the actions of a commit, each a line of JSON; None when it is not there (any more)."""
    return _read(table, _file_of(version))


def read_version_checksum(table: Storage, version: int) -> str | None:
    """Returns what Delta notes of the whole table beside a commit, as JSON; None when it is not there (yet)."""
    return _read(table, _file_of(version, "crc"))


def transactions_of(content: str) -> Iterator[tuple[str, int]]:
    """Yields the transactions (app id, version) that a commit notes.

    Raises:
        ValueError: an action is no JSON.
    """
    for line in content.splitlines():
        if '"txn"' in line and isinstance(noted := json.loads(line).get("txn"), dict):
            yield str(noted["appId"]), int(noted["version"])


def commit_time(content: str) -> float | None:
    """Returns when a commit was made, in seconds since 1970; None when it does not have it.

    Raises:
        ValueError: an action is no JSON.
    """
    for line in content.splitlines():
        if '"commitInfo"' in line and isinstance(info := json.loads(line).get("commitInfo"), dict):
            milliseconds = info.get("inCommitTimestamp") or info.get("timestamp")
            return None if milliseconds is None else int(milliseconds) / 1000
    return None


def operation_of(content: str) -> tuple[str, dict[str, Any]]:
    """Returns the operation of a commit and its parameters; an empty one when the commit does not say.

    Raises:
        ValueError: an action is no JSON.
    """
    for line in content.splitlines():
        if '"commitInfo"' in line and isinstance(info := json.loads(line).get("commitInfo"), dict):
            return str(info.get("operation", "")), dict(info.get("operationParameters") or {})
    return "", {}


def files_of(content: str) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the paths of the files that a commit adds, and of those that it removes, as its writer encodes them.

    Raises:
        ValueError: an action is no JSON.
        KeyError: an action has no path.
    """
    found: dict[str, set[str]] = {"add": set(), "remove": set()}
    for line in content.splitlines():
        for action, paths in found.items():
            if line.startswith(f'{{"{action}"'):
                paths.add(str(json.loads(line)[action]["path"]))
    return frozenset(found["add"]), frozenset(found["remove"])


def holds_files_of(table: Storage, content: str) -> bool:
    """Whether the files that a commit has added are there still, OPTIMIZE and VACUUM or not.

    Raises:
        ValueError, KeyError: as `files_of`.
    """
    return all(table.exists(local_path(unquote(path))) for path in files_of(content)[0])


def commits_of(table: Storage, newest: int, app_id: str) -> Iterator[tuple[int, int, str]]:
    """Yields the transactions of `app_id` as (its version, the table's version, the commit), the newest first.

    Ends where the log does. Reads one commit after the other, so ask for no more than is needed.

    Raises:
        ValueError: an action is no JSON.
    """
    for version in range(newest, -1, -1):
        if (content := read_commit(table, version)) is None:
            return
        yield from ((number, version, content) for name, number in transactions_of(content) if name == app_id)


def _file_of(version: int, kind: str = "json") -> str:
    return f"_delta_log/{version:020d}.{kind}"


def _read(table: Storage, file: str) -> str | None:
    try:
        return table.read_text(file)
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: `transaction` is (app id, version), `note` the user metadata.

    `rows` is how many rows its operation says it wrote (a MERGE: inserted and updated), else how many its files hold;
    None when neither is recorded.
    `identity` is what Delta calls it beside the commit too, empty for none.
    """

    version: int
    operation: str
    rows: int | None
    transaction: tuple[str, int] | None
    note: str
    identity: str = ""


class DeltaCommits:
    """The newest commits of the Delta table at `uri`, each read once, in the order of time. Not thread-safe.

    Reading raises what `Storage` raises for a log that cannot be read, ValueError for one that is torn.
    """

    def __init__(self, uri: str) -> None:
        self._storage = Storage(uri)
        self._next: int | None = None
        self._ahead: dict[int, Commit] = {}

    def of_transaction(self, app_id: str, version: int) -> Commit | None:
        """Returns the commit of a transaction, None when there is none; call it with growing versions.

        The first call looks back over a hundred commits at most, a later one only at what is new.

        Raises:
            CommitOutOfReach: it is not known, because the commit is further back or was cleaned up.
        """
        if self._next is None:
            newest = self._newest()
            self._next = newest + 1
            self._back_from(newest, lambda commit: self._remember(commit, app_id) and min(self._ahead) <= version)
            return self._ahead.pop(version, None)  # those after it stay: a quick query may be ahead of who asks
        self._ahead = {number: commit for number, commit in self._ahead.items() if number >= version}
        while version not in self._ahead and (commit := self._read(self._next)) is not None:
            self._next += 1
            self._remember(commit, app_id)
        if version not in self._ahead and self._newest() >= self._next:  # old commits were cleaned up meanwhile
            self._next = None
            return self.of_transaction(app_id, version)
        return self._ahead.pop(version, None)

    def _remember(self, commit: Commit, app_id: str) -> bool:
        """Keeps a commit if it is one of the application; returns whether it is."""
        if commit.transaction is None or commit.transaction[0] != app_id:
            return False
        self._ahead[commit.transaction[1]] = commit
        return True

    def newest_write(self, note: str) -> Commit | None:
        """Returns the newest commit that wrote or merged rows with this note, whatever maintenance has committed since.

        Raises:
            CommitOutOfReach: as `of_transaction`.
        """
        return self._back_from(self._newest(), lambda commit: commit.operation in _WRITES and commit.note == note)

    def _newest(self) -> int:
        """Returns the newest version, -1 for none: commits follow each other without a gap from the last checkpoint on.

        That takes a few looks for a file, whatever the number of commits and of the table's files.
        """
        there = self._last_checkpoint()
        step = 1
        while self._exists(there + step):
            there, step = there + step, 2 * step
        while step > 1:
            step //= 2
            if self._exists(there + step):
                there += step
        return there

    def _last_checkpoint(self) -> int:
        try:
            return int(json.loads(self._storage.read_text("_delta_log/_last_checkpoint"))["version"])
        except FileNotFoundError:
            return -1

    def _exists(self, version: int) -> bool:
        return self._storage.exists(_file_of(version))

    def _back_from(self, newest: int, wanted: Callable[[Commit], bool]) -> Commit | None:
        for version in range(newest, max(-1, newest - _LOOKED_BACK), -1):
            commit = self._read(version)
            if commit is None:
                raise CommitOutOfReach(f"commit {version} no longer exists")
            if wanted(commit):
                return commit
        if newest >= _LOOKED_BACK:
            raise CommitOutOfReach(f"the newest {_LOOKED_BACK} commits have no counts")
        return None

    def _read(self, version: int) -> Commit | None:
        content = read_commit(self._storage, version)
        return None if content is None else parse_commit(version, content)


def parse_commit(version: int, content: str) -> Commit:
    """Reads a file of `_delta_log`.

    Raises:
        ValueError: it holds something else.
    """
    info: dict[str, Any] = {}
    files: list[str] = []
    for line in content.splitlines():
        if line.startswith('{"add"'):
            files.append(line)
        elif line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
    transaction = next(transactions_of(content), None)
    metrics = info.get("operationMetrics") or {}
    return Commit(
        version,
        str(info.get("operation", "")),
        _written_rows(metrics, files),
        transaction,
        str(info.get("userMetadata") or ""),
        str(info.get("txnId") or ""),
    )


def _written_rows(metrics: dict[str, Any], files: list[str]) -> int | None:
    if "numTargetRowsInserted" in metrics:  # of a MERGE, whose output has the rows of a file that it copied
        return int(metrics["numTargetRowsInserted"]) + int(metrics.get("numTargetRowsUpdated", 0))
    return int(metrics["numOutputRows"]) if "numOutputRows" in metrics else _rows_of(files)


def _rows_of(files: list[str]) -> int | None:
    total = 0
    for line in files:
        statistics = json.loads(line)["add"].get("stats")
        records = json.loads(statistics).get("numRecords") if statistics else None
        if not isinstance(records, int):
            return None
        total += records
    return total
