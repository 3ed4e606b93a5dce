"""Which commits of a table would go if the batches of one query after a certain one went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.storage import Storage
from penstock.storage.delta.commits import read_commit, transactions_of


@dataclass(frozen=True, slots=True)
class Commit:
    """One version of a table; `transactions` are the batches that it notes, by app id."""

    version: int
    operation: str
    transactions: Mapping[str, int]
    changes_rows: bool


@dataclass(frozen=True, slots=True)
class Undone:
    """What goes with the batches: all versions after `version`; `others` of them were not made by the query.

    `version` is None when the table has nothing of these batches.
    """

    version: int | None
    others: tuple[Commit, ...] = ()


def undo_batches(uri: str, newest: int, app_id: str, batch: int) -> Undone | None:
    """Returns what goes with all that `app_id` has committed after `batch`; None when the log does not reach back.

    Commits that change no rows, such as those of OPTIMIZE, are not among the others.
    """
    storage, first, others = Storage(uri), None, list[Commit]()
    for version in range(newest, -1, -1):
        commit = _commit(storage, version)
        if commit is None:
            return None
        noted = commit.transactions.get(app_id)
        if noted is not None and noted <= batch:
            break
        if noted is not None:
            first = version
            if noted == batch + 1:
                break
        elif commit.changes_rows:
            others.append(commit)
    if first is None:
        return Undone(None)
    return Undone(first - 1, tuple(commit for commit in others if commit.version > first))


def find_batch(uri: str, newest: int, app_id: str, batch: int) -> tuple[int | None, int] | None:
    """Returns the version that a batch of `app_id` has made, and the one that it found; None when the log is too short.

    The first is None for a batch without a commit, because it had no rows; the second is then a version between
    the batches before and after it.
    """
    storage = Storage(uri)
    for version in range(newest, -1, -1):
        content = read_commit(storage, version)
        if content is None:
            return None
        noted = max((number for name, number in transactions_of(content) if name == app_id), default=None)
        if noted == batch:
            return (version, version - 1) if version else None
        if noted is not None and noted < batch:
            return None, version
    return None, 0


def _commit(storage: Storage, version: int) -> Commit | None:
    content = read_commit(storage, version)
    if content is None:
        return None
    operation, transactions, changes = "", dict[str, int](), False
    for line in content.splitlines():
        action: dict[str, Any] = json.loads(line)
        match action:
            case {"txn": {"appId": str(app_id), "version": int(number)}}:
                transactions[app_id] = number
            case {"commitInfo": {"operation": str(name)}}:
                operation = name
            case {"add": dict(file)} | {"remove": dict(file)}:
                changes = changes or file.get("dataChange") is not False
            case _:
                pass
    return Commit(version, operation, transactions, changes)
