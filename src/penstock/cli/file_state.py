"""`cloud_files_state` of `penstock sql`: as a view of all tables, and as a function of one table or checkpoint."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.source_files import (
    FILE_STATE_COLUMNS,
    SOURCE_FILE_COLUMNS,
    files_of_checkpoint,
    files_of_table,
    source_files,
)
from penstock.config import PipelineConfig
from penstock.events.log.reader import read_events
from penstock.runtime.commands.query import Function, View

CLOUD_FILES_STATE: Final = "cloud_files_state"


class FileState:
    """Looks at the checkpoints of a pipeline when the statement asks for it."""

    def __init__(self, config: PipelineConfig) -> None:
        self._config = config

    @cached_property
    def _inventory(self) -> Inventory:
        return Inventory(self._config.storage, read_events(self._config.storage))

    def view(self) -> View:
        """The files of all tables."""
        return View(SOURCE_FILE_COLUMNS, lambda: source_files(self._inventory))

    def function(self) -> Function:
        """The files of `cloud_files_state(TABLE(name))`, and of `cloud_files_state('path/of/a/checkpoint')`.

        A path is relative to the pipeline's folder.
        """
        return Function(
            FILE_STATE_COLUMNS,
            lambda name: files_of_table(self._inventory, name, self._config.schema),
            lambda path: files_of_checkpoint(self._inventory, path),
        )
