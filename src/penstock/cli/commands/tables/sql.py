"""`penstock sql "SELECT …"`: a query over the pipeline's tables, by Spark or by DuckDB."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.dev_session.client import answered_by_session
from penstock.cli.grants import about_grants
from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import event_sight, read_check, record_read
from penstock.cli.screen.console import note, plural, progress_lines, say
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.config import PipelineConfig
    from penstock.graph.identifier import Identifier


_PLAN: Final = ["plan"]
"""Spark's column of EXPLAIN."""


class Engine(Enum):
    """What runs the query."""

    SPARK = "spark"
    DUCKDB = "duckdb"


@answered_by_session
@project_command(settings=True)
def sql(
    *,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="Spark SQL; tables by their pipeline names.")],
    config: Project,
    engine: Annotated[
        Engine, typer.Option("--engine", help="duckdb: DuckDB's SQL, without a JVM, within a second.")
    ] = Engine.SPARK,
    as_json: AsJson = False,
) -> None:
    """Query the pipeline's tables with SQL.

    In Spark, the view event_log is the event log. The view cloud_files_state tells what became of each source file,
    and cloud_files_state(TABLE(name)) of those of one table. All rows of the result are printed, so put a LIMIT on a
    query over a large table. EXPLAIN shows the plan of a query and runs nothing; of CREATE MATERIALIZED VIEW, also
    whether the view would be refreshed incrementally. GRANT, REVOKE and SHOW GRANTS say who may read which tables, and
    start no Spark.
    """
    if (answer := about_grants(config, statement)) is not None:
        if answer[0] or as_json:
            print_rows(*answer, as_json=as_json)
        return
    tables: set[Identifier] = set()
    check = read_check(config, "sql", {"statement": statement})

    def found(table: Identifier) -> None:
        check(table)  # before the query's errors can name values
        tables.add(table)

    columns, rows = (_by_duckdb if engine is Engine.DUCKDB else _by_spark)(config, statement, found)
    record_read(config, "sql", tables, len(rows), {"statement": statement})
    if columns == _PLAN and statement.lstrip().upper().startswith("EXPLAIN") and not as_json:
        say("\n".join(str(plan) for (plan,) in rows))  # its lines are its form
        return
    print_rows(columns, rows, as_json=as_json)
    if not as_json:
        note(plural(len(rows), "row"))


def _by_spark(
    config: PipelineConfig, statement: str, found: Callable[[Identifier], None]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    enter(config)
    from penstock.cli.file_state import CLOUD_FILES_STATE, FileState
    from penstock.observe.stored.tables import external_tables
    from penstock.runtime.commands.query import run_sql

    files = FileState(config, found)
    with only_results_on_stdout():
        return run_sql(
            config,
            statement,
            progress=progress_lines(),
            views={CLOUD_FILES_STATE: files.view()},
            functions={CLOUD_FILES_STATE: files.function()},
            elsewhere=lambda: external_tables(config.storage),
            found=found,
            sight=lambda: event_sight(config),
        )


def _by_duckdb(
    config: PipelineConfig, statement: str, found: Callable[[Identifier], None]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.duckdb_query import query_by_duckdb
    from penstock.observe.stored.tables import StoredTable, find_table

    definitions = list(read_definitions(config.storage))

    def find(name: str) -> StoredTable:
        table = find_table(config.storage, name, default_schema=config.schema, events=definitions)
        found(table.identifier)
        return table

    return query_by_duckdb(statement, find)
