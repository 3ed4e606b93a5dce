"""`penstock replay`: one batch of a flow again, beside its table, and the rows that come out otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson, Directory, Environment, Pipeline, Settings, StorageUri
from penstock.cli.project import enter, open_project
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, print_json, progress_lines, say
from penstock.cli.screen.differences import different_rows, print_different_rows
from penstock.cli.screen.quiet_stdout import only_results_on_stdout

if TYPE_CHECKING:
    from penstock.plan.state import RecordedBatch
    from penstock.runtime.commands.batch_replay import ReplayedBatch

IntoTable = Annotated[
    str | None, typer.Option("--flow", metavar="FLOW", help="Which flow, where several write the table.")
]


def replay(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, with or without the schema.")],
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=0, help="The number of the batch.")],
    directory: Directory = Path(),
    flow: IntoTable = None,
    code: Annotated[
        Path | None,
        typer.Option("--code", metavar="DIR", help="Take the code of the pipeline in this folder instead."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many different rows.")] = 20,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the table with the replayed rows.")] = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Run one batch of a streaming flow again, and compare its rows with what it has committed.

    The batch reads what it read then, into a table of its own, with the code as it is now. Nothing of the pipeline is
    changed, and a run may be at work meanwhile. Exits with 0 when the rows are equal, with 1 when they differ.
    """
    from penstock.care.checkpoints.replaying import plan_replay
    from penstock.cli.commands.checkpoints.checkpoint import open_inventory

    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, set_=set_)
    recorded = plan_replay(open_inventory(config), table, batch, flow=flow, default_schema=config.schema)
    request = {"batch": batch, "limit": limit}
    read_check(config, "replay", request)(recorded.dataset)
    data = config.directory
    if code is not None:
        other = open_project(code, environment=environment, pipeline=pipeline, storage=config.storage, set_=set_)
        config = replace(other, paths=config.paths)
    enter(config, data=data)
    from penstock.runtime.commands.batch_replay import replay_batch

    with only_results_on_stdout():
        done = replay_batch(config, recorded, progress=progress_lines(), limit=limit, keep=keep, data=data)
    if done.difference.rows and not done.hides_rows:
        shown = sum(row.times for row in done.difference.rows)
        record_read(config, "replay", [recorded.dataset], shown, request)
    if as_json:
        print_json(_to_json(recorded, done))
    else:
        _show(recorded, done)
    if not done.difference.same:
        raise typer.Exit(1)


def _to_json(recorded: RecordedBatch, done: ReplayedBatch) -> dict[str, Any]:
    found = done.difference
    return {
        "table": str(recorded.dataset),
        "flow": recorded.flow,
        "batch": recorded.number,
        "version": recorded.version,
        "same": found.same,
        "rows": {"equal": found.equal, "only_in_replay": found.only_left, "only_in_table": found.only_right},
        "difference": None if done.hides_rows else different_rows(found, "replay", "table"),
        "kept": done.kept,
    }


def _show(recorded: RecordedBatch, done: ReplayedBatch) -> None:
    found = done.difference
    counts = f"{found.equal:,} equal, {found.only_left:,} only in the replay, {found.only_right:,} only in the table"
    say(f"Batch {recorded.number} of {recorded.label}: rows: {counts}")
    print_different_rows(found, "replay", "table", hidden=done.hides_rows)
    if done.kept is not None:
        note(f"The replayed rows are kept in the Delta table {done.kept}")
