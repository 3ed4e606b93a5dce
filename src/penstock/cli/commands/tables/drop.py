"""`penstock drop TABLE`: removes a table that the pipeline no longer declares."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, print_json, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.graph.identifier import Identifier


@project_command()
def drop(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Its name, with or without the schema.")],
    config: Project,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a table that the pipeline no longer declares, with its checkpoints.

    The rows are lost. Refused while the pipeline's files still declare the table, and while a run is going on.
    """
    identifier, uri = _find(config, table)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigError("DROP_NOT_CONFIRMED", name=identifier)
        typer.confirm(f"Delete {identifier} with all its rows and checkpoints?", abort=True, err=True)
    enter(config, writes=True)
    from penstock.runtime.commands.drop import drop_dataset

    with only_results_on_stdout():
        folders = drop_dataset(config, identifier, uri, progress=progress_lines())
    if as_json:
        print_json({"dropped": str(identifier), "folders": list(folders)})
    else:
        note(f"{identifier} is gone: {', '.join(folders)}")
    if config.catalogs:
        from penstock.errors import render
        from penstock.registration.catalogs import remove_entries

        for removed in remove_entries(config, identifier):
            note(f"Removed from {removed}" if isinstance(removed, str) else render(removed))


def _find(config: PipelineConfig, name: str) -> tuple[Identifier, str | None]:
    """Returns the table's full name and place; no place when an interrupted drop left its checkpoints alone."""
    from penstock.events.log.reader import read_events
    from penstock.graph.identifier import Identifier
    from penstock.observe.stored.tables import find_table
    from penstock.storage import Storage, StorageLayout

    try:
        found = find_table(config.storage, name, default_schema=config.schema, events=read_events(config.storage))
    except ConfigError:
        identifier = Identifier.parse(name, default_schema=config.schema)
        storage = Storage(config.storage)
        if not any(storage.exists(folder) for folder in StorageLayout(config.storage).notes(identifier)):
            raise
        return identifier, None
    return found.identifier, found.uri
