"""What a flow's target knows of its batches: the transactions in a Delta table's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from penstock.plan.state import GENERATION
from penstock.storage import Storage
from penstock.storage.delta.commits import read_commit, transactions_of
from penstock.storage.delta.log import damaged_files, log_damage
from penstock.storage.delta.table import is_delta_table, open_delta_table, readable

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COMMITS_LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class Target:
    """A stored table as the target of flows: its newest version, and the generation of its checkpoints.

    `table` is the table as it was opened.
    """

    name: str
    uri: str
    version: int
    generation: int
    table: DeltaTable

    @classmethod
    def open(cls, name: str, uri: str) -> Target | None:
        """Returns the table at `uri`, None when there is none.

        Raises:
            StateError: TABLE_NOT_READABLE.
        """
        with readable(name):
            if not is_delta_table(uri):
                return None
            table = open_delta_table(uri)
            generation = int(table.metadata().configuration.get(GENERATION, "0"))
            return cls(name, uri, table.version(), generation, table)

    @property
    def holds_rows(self) -> bool:
        """Whether there is any file with rows."""
        return bool(self.table.file_uris())

    def newest_batch(self, query_id: str) -> int | None:
        """Returns the newest batch of a query that the table notes; None for none."""
        return self.table.transaction_version(query_id)

    def damage(self) -> tuple[str, ...]:
        """Returns what is wrong with the table's log, as ends of "it …"; see `log_damage` and `damaged_files`.

        Raises:
            StateError: TABLE_NOT_READABLE.
        """
        with readable(self.name):
            lost = log_damage(self.table, self.uri)
            files = tuple(f"{reason}: {file}" for file, reason in damaged_files(self.uri))
        return files if lost is None else (lost.reason, *files)

    def has_files_of(self, version: int) -> bool:
        """Whether all files of an older version are still there; one that cannot be read has not."""
        from deltalake.exceptions import DeltaError

        try:
            storage, now = Storage(self.uri), set(self.table.file_uris())
            gone = set(open_delta_table(self.uri, version=version).file_uris()) - now
        except (DeltaError, OSError):
            return False
        # Of an object store delta-rs returns URIs, which are encoded; a key is not.
        return all(storage.exists(unquote(file) if "://" in file else file) for file in gone)

    def restore(self, version: int) -> None:
        """Gives the table the rows of an older version, in a new commit; again is harmless.

        Raises:
            StateError: TABLE_NOT_READABLE.
        """
        with readable(self.name):
            self.table.restore(version)

    def version_of(self, query_id: str, batch: int) -> int | None:
        """Returns the version that a batch made; None when it is not among the newest hundred."""
        storage = Storage(self.uri)
        for version in range(self.version, max(-1, self.version - _COMMITS_LOOKED_AT), -1):
            content = read_commit(storage, version)
            if content is None:
                return None
            if (query_id, batch) in transactions_of(content):
                return version
        return None
