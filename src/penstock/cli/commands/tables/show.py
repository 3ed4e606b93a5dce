"""`penstock show TABLE`: rows of a table, without Spark unless only Spark can read or protect them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, plural, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows
from penstock.errors import StateError
from penstock.graph.sql.names import quoted

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.graph.identifier import Identifier
    from penstock.observe.stored.tables import TableRows

_ONLY_BY_SPARK: Final = {
    "TABLE_IS_PROTECTED": "applies the row filter and the masks of the table",
    "TABLE_IN_ANOTHER_STORE": "reads a shallow clone of a table in another bucket",
}


def read_as_reader(
    config: PipelineConfig,
    table: Identifier,
    *,
    limit: int,
    version: int | None,
    timestamp: datetime | None,
    sort: str | None,
    descending: bool,
    reason: str,
) -> TableRows:
    """As `penstock.observe.stored.tables.read_table`, by Spark, through the enforcing view; `reason` is why.

    Raises:
        DefinitionError: there is no such version or column.
        StateError: TABLE_PROTECTION_FAILED.
    """
    from penstock.observe.stored.tables import TableRows, external_tables

    statement = [f"SELECT * FROM {table.sql}"]  # noqa: S608 - names are quoted
    if version is not None:
        statement.append(f"VERSION AS OF {version}")
    elif timestamp is not None:
        statement.append(f"TIMESTAMP AS OF '{timestamp.isoformat()}'")
    if sort is not None:
        statement.append(f"ORDER BY {quoted(sort)} {'DESC' if descending else 'ASC'} NULLS LAST")
    statement.append(f"LIMIT {limit + 1}")
    enter(config)
    from penstock.runtime.commands.query import run_sql

    progress_lines()(f"Starting Spark, which {reason} …")
    with only_results_on_stdout():
        columns, rows = run_sql(config, " ".join(statement), elsewhere=lambda: external_tables(config.storage))
    return TableRows(tuple(columns), tuple(rows[:limit]), version, truncated=len(rows) > limit)


@project_command(scripts=True)
def show(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Its name, with or without the schema.")],
    config: Project,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many rows.")] = 20,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", min=0, help="As of this version of the table.")
    ] = None,
    timestamp: Annotated[
        datetime | None,
        typer.Option(
            "--timestamp",
            metavar="TIME",
            formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d"],
            help="As of this time; UTC unless it says otherwise.",
        ),
    ] = None,
    sort: Annotated[str | None, typer.Option("--sort", metavar="COLUMN", help="The first rows by this column.")] = None,
    descending: Annotated[bool, typer.Option("--descending", help="Sort from the greatest to the smallest.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show rows of a table, now or as of an earlier version.

    Without `--sort` rows come in no promised order. `penstock sql` filters and joins. Of a table with a row
    filter or masks it shows what readers may see. That takes Spark, as does a clone of a table in another bucket.
    """
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import find_table, read_table

    if version is not None and timestamp is not None:
        raise typer.BadParameter("give --version or --timestamp, not both", param_hint="--timestamp")
    if timestamp is not None and timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=UTC)
    found = find_table(config.storage, table, default_schema=config.schema, events=read_definitions(config.storage))
    request = {"version": version, "timestamp": timestamp, "sort": sort, "limit": limit}
    read_check(config, "show", request)(found.identifier)
    try:
        content = read_table(found, limit=limit, version=version, timestamp=timestamp, sort=sort, descending=descending)
    except StateError as refused:
        if refused.condition not in _ONLY_BY_SPARK:
            raise
        content = read_as_reader(
            config,
            found.identifier,
            limit=limit,
            version=version,
            timestamp=timestamp,
            sort=sort,
            descending=descending,
            reason=_ONLY_BY_SPARK[refused.condition],
        )
    record_read(config, "show", [found.identifier], len(content.rows), request)
    seen = "as its readers see it" if content.version is None else f"version {content.version}"
    print_rows(content.columns, content.rows, as_json=as_json, title=f"{found.identifier}, {seen}")
    if not as_json:
        more = "; there are more, see --limit" if content.truncated else ""
        note(f"{plural(len(content.rows), 'row')}{more}")
