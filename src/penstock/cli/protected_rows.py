"""Rows of a table with a row filter or masks: only Spark can apply them, so Spark is started."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from penstock.cli.console import progress_lines
from penstock.cli.project import enter
from penstock.cli.quiet_stdout import only_results_on_stdout
from penstock.graph.sql_names import quoted

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.graph.identifier import Identifier
    from penstock.observe.tables import TableRows


def read_as_reader(
    config: PipelineConfig,
    table: Identifier,
    *,
    limit: int,
    version: int | None,
    timestamp: datetime | None,
    sort: str | None,
    descending: bool,
) -> TableRows:
    """As `penstock.observe.tables.read_table`, through the enforcing view.

    Raises:
        DefinitionError: there is no such version or column.
        StateError: TABLE_PROTECTION_FAILED.
    """
    from penstock.observe.tables import TableRows, tables_elsewhere

    statement = [f"SELECT * FROM {quoted(table.schema)}.{quoted(table.name)}"]  # noqa: S608 - names are quoted
    if version is not None:
        statement.append(f"VERSION AS OF {version}")
    elif timestamp is not None:
        statement.append(f"TIMESTAMP AS OF '{timestamp.isoformat()}'")
    if sort is not None:
        statement.append(f"ORDER BY {quoted(sort)} {'DESC' if descending else 'ASC'} NULLS LAST")
    statement.append(f"LIMIT {limit + 1}")
    enter(config)
    from penstock.runtime.query import run_sql

    progress_lines()("Starting Spark, which applies the row filter and the masks of the table …")
    with only_results_on_stdout():
        columns, rows = run_sql(config, " ".join(statement), elsewhere=lambda: tables_elsewhere(config.storage))
    return TableRows(tuple(columns), tuple(rows[:limit]), version, truncated=len(rows) > limit)
