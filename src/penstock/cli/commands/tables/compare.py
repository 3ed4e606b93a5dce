"""`penstock compare TABLE OTHER`: whether two tables have the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, plural, print_json, progress_lines, say
from penstock.cli.screen.differences import different_rows, print_different_rows
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.runtime.commands.compare import ComparedTable, TableComparison


@project_command()
def compare(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the pipeline.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Another one; the path of a Delta table has a slash.")],
    config: Project,
    where: Annotated[
        str | None, typer.Option("--where", metavar="CONDITION", help="Compare only such rows; Spark SQL.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--except", metavar="COLUMN", help="Leave out a column; again for more.")
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COLUMN", help="Say by key which columns differ.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="How many different rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Compare the rows of a table of the pipeline with those of another table. Uses Spark.

    Each row counts as often as it is there; order does not matter. Columns that only one of both has are named, and
    not compared. Exits with 0 when the rows are equal, with 1 when they differ.
    """
    sides = _named(config, table), _named(config, other) if "/" not in other else _at(config, other)
    tables = [side.identifier for side in sides if side.identifier is not None]
    request = {"other": other, "where": where, "limit": limit}
    check = read_check(config, "compare", request)
    for each in tables:
        check(each)
    enter(config)
    from penstock.runtime.commands.compare import compare_tables

    with only_results_on_stdout():
        done = compare_tables(
            config, *sides, progress=progress_lines(), where=where, without=without or (), key=key or (), limit=limit
        )
    record_read(config, "compare", tables, sum(row.times for row in done.difference.rows), request)
    if as_json:
        print_json(_to_json(*sides, done))
    else:
        _show(*sides, done)
    if not done.difference.same:
        raise typer.Exit(1)


def _named(config: PipelineConfig, name: str) -> ComparedTable:
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import find_table
    from penstock.runtime.commands.compare import ComparedTable

    events = read_definitions(config.storage)
    found = find_table(config.storage, name, default_schema=config.schema, events=events)
    return ComparedTable(str(found.identifier), found.uri, found.identifier)


def _at(config: PipelineConfig, path: str) -> ComparedTable:
    """Returns the table at a path; one of the pipeline under its name, because its readers' rights are by name."""
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import list_tables
    from penstock.runtime.commands.compare import ComparedTable
    from penstock.storage import Storage
    from penstock.storage.delta.table import is_delta_table

    uri = Storage(path if "://" in path else str(Path(path).absolute())).uri
    for known in list_tables(config.storage, read_definitions(config.storage)):
        if known.uri == uri:
            return ComparedTable(str(known.identifier), uri, known.identifier)
    if f"{uri}/".startswith(f"{config.storage.rstrip('/')}/") or not is_delta_table(uri):
        raise ConfigError("COMPARE_TABLE_NOT_FOUND", path=uri)
    return ComparedTable(uri, uri, None)


def _to_json(left: ComparedTable, right: ComparedTable, done: TableComparison) -> dict[str, Any]:
    found = done.difference
    return {
        "table": left.name,
        "other": right.name,
        "same": found.same,
        "rows": {"equal": found.equal, "only_in_table": found.only_left, "only_in_other": found.only_right},
        "columns": list(found.columns),
        "columns_only_in_table": list(done.only_left),
        "columns_only_in_other": list(done.only_right),
        "changed": None if done.changed is None else dict(done.changed),
        "difference": different_rows(found, "table", "other"),
    }


def _show(left: ComparedTable, right: ComparedTable, done: TableComparison) -> None:
    found = done.difference
    for side, only in ((left, found.only_left), (right, found.only_right)):
        say(f"{side.name}: {plural(found.equal + only, 'row')}, {only:,} of them only there")
    for side, names in ((left, done.only_left), (right, done.only_right)):
        if names:
            note(f"Not compared, because only {side.name} has them: {', '.join(names)}")
    for name, rows in done.changed or ():
        if rows:
            say(f"  {name} differs in {plural(rows, 'row')} of the same key")
    print_different_rows(found, "table", "other")
    if found.same:
        say("The rows are equal.")
