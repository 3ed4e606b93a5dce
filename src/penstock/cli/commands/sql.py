"""`penstock sql "SELECT …"`: a query over the pipeline's tables, by Spark."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Final

import typer

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.source_files import (
    FILE_STATE_COLUMNS,
    SOURCE_FILE_COLUMNS,
    files_of_checkpoint,
    files_of_table,
    source_files,
)
from penstock.cli.options import AsJson, Directory, Environment, Pipeline, Settings, StorageUri
from penstock.cli.project import enter, open_project
from penstock.cli.screen.console import note, plural, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows
from penstock.config import PipelineConfig
from penstock.events.reader import read_events
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


def sql(
    *,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="Spark SQL; tables by their pipeline names.")],
    directory: Directory = Path(),
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Query the pipeline's tables with Spark SQL.

    The view event_log is the event log. The view cloud_files_state tells what became of each source file, and
    cloud_files_state(TABLE(name)) of those of one table. All rows of the result are printed, so put a LIMIT on a
    query over a large table.
    """
    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, set_=set_)
    enter(config)
    from penstock.cli.commands.sql import CLOUD_FILES_STATE, FileState
    from penstock.observe.tables import external_tables
    from penstock.runtime.commands.query import run_sql

    files = FileState(config)
    progress_lines()("Starting Spark …")
    with only_results_on_stdout():
        columns, rows = run_sql(
            config,
            statement,
            views={CLOUD_FILES_STATE: files.view()},
            functions={CLOUD_FILES_STATE: files.function()},
            elsewhere=lambda: external_tables(config.storage),
        )
    print_rows(columns, rows, as_json=as_json)
    if not as_json:
        note(plural(len(rows), "row"))
