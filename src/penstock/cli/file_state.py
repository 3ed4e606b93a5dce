"""`cloud_files_state` of `penstock sql`: as a view of all tables, and as a function of one table or checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from penstock.access.store import access_of
from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.source_files import (
    FILE_STATE_COLUMNS,
    SOURCE_FILE_COLUMNS,
    Row,
    files_of_checkpoint,
    files_of_table,
    source_files,
)
from penstock.config import PipelineConfig
from penstock.events.log.audit import account
from penstock.events.log.reader import read_events
from penstock.graph.identifier import Identifier
from penstock.runtime.commands.query import Function, View
from penstock.storage import Storage

CLOUD_FILES_STATE: Final = "cloud_files_state"


class FileState:
    """Looks at the checkpoints of a pipeline when the statement asks for it."""

    def __init__(self, config: PipelineConfig, found: Callable[[Identifier], None] = lambda _: None) -> None:
        """`found` is called with the table of a function's argument, before its files are looked at."""
        self._config = config
        self._found = found

    @cached_property
    def _inventory(self) -> Inventory:
        return Inventory(self._config.storage, read_events(self._config.storage))

    def view(self) -> View:
        """The files of all tables that the account of this process may read."""
        return View(SOURCE_FILE_COLUMNS, self._readable)

    def function(self) -> Function:
        """The files of `cloud_files_state(TABLE(name))`, and of `cloud_files_state('path/of/a/checkpoint')`.

        A path is relative to the pipeline's folder.
        """
        return Function(FILE_STATE_COLUMNS, self._of_table, self._of_path)

    def _readable(self) -> Iterator[Row]:
        access, user = access_of(self._config.storage, self._config.access), account()
        return (row for row in source_files(self._inventory) if access.allows(user, Identifier.recorded(str(row[0]))))

    def _of_table(self, name: str) -> Iterator[Row]:
        self._found(Identifier.parse(name, default_schema=self._config.schema))
        return files_of_table(self._inventory, name, self._config.schema)

    def _of_path(self, path: str) -> Iterator[Row]:
        uri = Storage(path).uri
        for checkpoint in self._inventory.checkpoints:
            if checkpoint.folder.uri == uri:
                self._found(checkpoint.dataset)
        return files_of_checkpoint(self._inventory, path)
