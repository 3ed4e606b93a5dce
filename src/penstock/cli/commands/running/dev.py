"""`penstock dev`: a warm session that shows what each edit of a pipeline does, on samples."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.dev_session.server import answering
from penstock.cli.options import Directory, Environment, Pipeline, Settings, StorageUri
from penstock.cli.project import enter, open_project
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, progress_lines
from penstock.cli.screen.keys import key_presses
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.cli.screen.dev_view import EditView
    from penstock.config import PipelineConfig
    from penstock.graph.identifier import Identifier
    from penstock.runtime.dev.session import DevSession

_LOOK_SECONDS: Final = 0.1


def dev(
    *,
    directory: Directory = Path(),
    sample: Annotated[
        int, typer.Option("--sample", metavar="ROWS", min=1, help="The most rows of each input and result.")
    ] = 1000,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=0, help="How many rows of each dataset are shown.")
    ] = 5,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
) -> None:
    """Show what each edit of the pipeline does, until q or Ctrl-C. Uses Spark; writes no table.

    Each time a file of the project is saved, the pipeline is validated, and the datasets that have changed, and those
    that read them, are computed on a sample of their inputs: columns, expectations, rows, and how the rows differ from
    those before the edit. A table that is in the storage is read there, until it is edited. An error does not end the
    session.
    """
    folder, variables = directory.absolute(), dict(os.environ)

    def load() -> PipelineConfig:
        return open_project(folder, environment=environment, pipeline=pipeline, storage=storage, set_=set_)

    config = load()
    if storage is not None:
        storage = config.storage  # relative to the folder where it was typed, which `enter` leaves
    check = _check(config)
    enter(config)
    from penstock.cli.screen.dev_view import EditView
    from penstock.runtime.dev.project_files import ProjectFiles
    from penstock.runtime.dev.session import DevSession
    from penstock.runtime.project.watched_workspace import watched_workspace

    files = ProjectFiles(config.directory, lambda: _source_files(config), _data_folders(config))
    progress = progress_lines()
    with suppress(KeyboardInterrupt), watched_workspace(config, progress) as workspace:
        session, view = DevSession(workspace, load, check, sample), EditView(config.directory, limit)
        _show(session, config, view, ())
        with (
            answering(folder, workspace.spark, variables) as commands,
            key_presses([] if commands is None else [commands.fileno()]) as wait,
        ):
            note("Watching the files of the project; q ends the session.")
            while wait(_LOOK_SECONDS) != "q":
                if commands is not None:
                    commands.run_waiting()
                if changed := files.changed():
                    _show(session, config, view, changed)


def _show(session: DevSession, config: PipelineConfig, view: EditView, files: Sequence[Path]) -> None:
    with only_results_on_stdout():
        outcome = session.refresh(lambda _: None)
    results = [each.result for each in outcome.datasets if each.result is not None]
    if stored := {table for each in results for table in each.stored}:
        record_read(config, "dev", stored, sum(len(each.rows) for each in results), {"limit": view.limit})
    view.show(outcome, files)


def _check(config: PipelineConfig) -> Callable[[Iterable[Identifier]], None]:
    """Returns what raises StateError INSUFFICIENT_PERMISSIONS, GRANTS_DAMAGED for tables that the user may not read."""
    check = read_check(config, "dev", {})

    def check_all(tables: Iterable[Identifier]) -> None:
        for table in tables:
            check(table)

    return check_all


def _source_files(config: PipelineConfig) -> Iterable[Path]:
    """Returns the files that the pipeline file names, which may lie outside of its folder."""
    try:
        return config.source_files()
    except ConfigError:
        return ()


def _data_folders(config: PipelineConfig) -> tuple[Path, ...]:
    from penstock.storage import local_path

    return (Path(local_path(config.storage)),)
