"""Clones that are taken over: one has the rows of its source, and nothing of which query has written them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.delta.commits import operation_of, read_commit, transactions_of
from penstock.storage.delta.table import files_elsewhere, is_delta_table, open_delta_table
from penstock.storage.local_disk import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COMMITS_LOOKED_AT: Final = 200
_BY_PATH: Final = re.compile(r"delta\.`(.+)`")


@dataclass(frozen=True, slots=True)
class Clone:
    """Of which table another one is a clone, and of which version; `source` is a path, or a name."""

    source: str
    version: int
    is_path: bool

    def __str__(self) -> str:
        return f"a clone of {self.source} at version {self.version}"

    def batch_of(self, query_id: str) -> int | None:
        """Returns the newest batch of a query that the source had at that version; None if it has none or is not known.

        What the clone does not say itself, the source does: its rows are those of that version.
        """
        if not self.is_path or not is_delta_table(self.source):
            return None
        from deltalake.exceptions import DeltaError

        try:
            return open_delta_table(self.source, version=self.version).transaction_version(query_id)
        except (DeltaError, OSError, ValueError):  # a version that was cleaned up
            return None

    def reason(self, folder: CheckpointFolder, batch: int | None) -> str | None:
        """Returns why a clone with the rows up to a `batch` cannot be gone on with; None if it can."""
        if batch is None:
            return (
                f"the table is {self}, where the query's batches are not to be found (any more), and a clone itself "
                "does not know them"
            )
        if folder.in_flight is not None and batch >= folder.in_flight:
            return (
                f"the table is {self}, which has batch {batch}; the query has not finished it, and would write it "
                "again into a clone. Let the query finish it, or clone the version before"
            )
        return None


def replaced_by(path: str, version: int, query_id: str) -> Clone | str | None:
    """Returns what has replaced the rows of a table since the newest batch of a query, up to `version`.

    A clone, or, of a RESTORE, why the query cannot be gone on with: what the log says of batches holds for neither.
    """
    table = Storage(path)
    for number in range(version, max(-1, version - _COMMITS_LOOKED_AT), -1):
        content = read_commit(table, number)
        if content is None or any(name == query_id for name, _ in transactions_of(content)):
            return None
        operation, noted = operation_of(content)
        if operation == "CLONE" and "source" in noted:
            source, of_version = str(noted["source"]), int(noted.get("sourceVersion", -1))
            by_path = _BY_PATH.fullmatch(source)
            return Clone(local_path(unquote(by_path[1])) if by_path else source, of_version, by_path is not None)
        if operation == "RESTORE":
            return (
                f"RESTORE has taken the table back in version {number}, behind the query's newest batch: its log still "
                "names batches whose rows it no longer has"
            )
    return None


def places_elsewhere(table: DeltaTable) -> tuple[str, ...]:
    """Returns the folders of those of a table's files that lie in other tables, as those of a shallow clone do."""
    return tuple(sorted({file.rpartition("/")[0] for file in files_elsewhere(table)}))
