"""`penstock state TABLE`: what the stateful operators of a flow remember."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.checkpoints.replay_batch import IntoTable
from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, plural, print_json, print_table, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows

if TYPE_CHECKING:
    from penstock.care.checkpoints.state_summary import StateSummary
    from penstock.spark.streams.state import StateTable


@project_command()
def state(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, with or without the schema.")],
    config: Project,
    flow: IntoTable = None,
    operator: Annotated[
        int | None, typer.Option("--operator", metavar="K", min=0, help="Only this stateful operator.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many rows of each.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the state of a streaming flow: open windows, ids that were seen, rows that wait for a match, variables.

    It is the state as the newest finished batch has left it, read from a copy: a run may be at work meanwhile. All rows
    are counted, and the first ones shown.
    """
    from penstock.care.checkpoints.state_summary import find_state
    from penstock.cli.commands.checkpoints.checkpoint import open_inventory
    from penstock.events import read_events

    found = find_state(
        open_inventory(config),
        read_events(config.storage),
        table,
        flow=flow,
        operator=operator,
        default_schema=config.schema,
    )
    request = {"flow": found.checkpoint.flow, "limit": limit}
    read_check(config, "state", request)(found.checkpoint.dataset)
    enter(config)
    from penstock.runtime.commands.state_tables import read_state_tables

    with only_results_on_stdout():
        tables = read_state_tables(
            config,
            found.checkpoint.folder,
            [each.number for each in found.operators],
            batch=found.batch,
            partitions=found.operators[0].partitions,
            flow=found.checkpoint.name,
            dataset=str(found.checkpoint.dataset),
            limit=limit,
            progress=progress_lines(),
        )
    shown = sum(len(part.rows) for parts in tables.values() for part in parts)
    record_read(config, "state", [found.checkpoint.dataset], shown, request)
    if as_json:
        print_json(_to_json(found, tables))
    else:
        _show(found, tables)


def _to_json(found: StateSummary, tables: Mapping[int, tuple[StateTable, ...]]) -> dict[str, Any]:
    operators = [
        {
            "operator": each.number,
            "name": each.name,
            "partitions": each.partitions,
            "stored_bytes": each.bytes,
            "rows": sum(part.count for part in tables[each.number]),
            "parts": [
                {
                    "part": part.part or None,
                    "rows": part.count,
                    "first": [dict(zip(part.columns, row, strict=True)) for row in part.rows],
                }
                for part in tables[each.number]
            ],
        }
        for each in found.operators
    ]
    return {
        "table": str(found.checkpoint.dataset),
        "flow": found.checkpoint.flow,
        "batch": found.batch,
        "memory_bytes": found.memory,
        "operators": operators,
    }


def _show(found: StateSummary, tables: Mapping[int, tuple[StateTable, ...]]) -> None:
    headings = [("operator", True), ("name", False), ("rows", True), ("partitions", True), ("stored bytes", True)]
    rows = [
        (
            each.number,
            each.name,
            f"{sum(part.count for part in tables[each.number]):,}",
            each.partitions,
            f"{each.bytes:,}",
        )
        for each in found.operators
    ]
    print_table(headings, rows, title=f"{found.checkpoint.name}: state after batch {found.batch}")
    for each in found.operators:
        for part in tables[each.number]:
            title = f"Operator {each.number}{f', {part.part}' if part.part else ''}: {plural(part.count, 'row')}"
            print_rows(part.columns, part.rows, as_json=False, title=title)
    if found.memory is not None:
        note(f"In memory: {found.memory:,} bytes when that batch ended.")
