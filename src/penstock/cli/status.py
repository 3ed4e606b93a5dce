"""`penstock status`: how the newest update went or goes, per dataset, from the event log."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import note, print_json, say, stdout
from penstock.cli.options import AsJson, DirectoryOrScript, Environment, Pipeline, StorageUri
from penstock.cli.project import open_project


def status(
    directory: DirectoryOrScript = Path(),
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of the pipeline and of each dataset: rows, rates, expectations, errors.

    Reads the event log only, so it works during a run, after a crash and on a copy, in half a second.
    """
    from penstock.cli.status_view import accounts_line, error_lines, quality_table, status_table, update_line
    from penstock.events.reader import read_events
    from penstock.observe.status import project_status
    from penstock.storage import Storage, read_holder

    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, scripts=True)
    holder = read_holder(Storage(config.storage))
    alive = holder is not None and holder.alive()
    current = project_status(read_events(config.storage), writer_alive=alive)
    if as_json:
        print_json(current.to_json())
        return
    say(update_line(current))
    if current.update is None:
        note("'penstock run' runs the pipeline.")
        return
    out = stdout()
    out.print(status_table(current))
    quality = quality_table(current)
    if quality is not None:
        out.print(quality)
    if (accounts := accounts_line(current)) is not None:
        say(accounts)
    for name in current.undeclared:
        say(f"{name} is no longer declared; its table stays. 'penstock drop {name}' removes it.")
    for line in error_lines(current):
        say(line)
