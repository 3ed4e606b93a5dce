"""Which queries have written a table although no checkpoint knows them: what is left when the event log is lost too."""

from __future__ import annotations

import re
from typing import Final

from penstock.graph.identifier import Identifier
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint import CheckpointFolder
from penstock.storage.delta_commits import read_commit, transactions_of

_COMMITS_CHECKED: Final = 100
_QUERY_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def has_unknown_query(layout: StorageLayout, target: Identifier, path: str, version: int) -> bool:
    """Whether one of the newest hundred commits of the table at `path` is of a query without a checkpoint.

    Those of older generations count as well, and what a restore or a reset has moved away.
    """
    written = _queries(Storage(path), version)
    return bool(written) and not written <= _known(layout, target)


def _queries(table: Storage, version: int) -> set[str]:
    found = set[str]()
    for number in range(version, max(-1, version - _COMMITS_CHECKED), -1):
        content = read_commit(table, number)
        if content is None:
            break
        found |= {app_id for app_id, _ in transactions_of(content) if _QUERY_ID.fullmatch(app_id)}
    return found


def _known(layout: StorageLayout, target: Identifier) -> set[str | None]:
    storage, known = Storage(layout.uri), set[str | None]()
    for flow in storage.list(layout.notes(target)[1]):
        for generation in storage.list(flow.uri) if flow.is_directory else ():
            if generation.is_directory:
                known.add(CheckpointFolder.open_without_state(generation.uri).known_query_id())
    return known
