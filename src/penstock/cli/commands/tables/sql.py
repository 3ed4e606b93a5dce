"""`penstock sql "SELECT …"`: a query over the pipeline's tables, by Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import record_read
from penstock.cli.screen.console import note, plural, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.cli.screen.rows import print_rows


@project_command(settings=True)
def sql(
    *,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="Spark SQL; tables by their pipeline names.")],
    config: Project,
    as_json: AsJson = False,
) -> None:
    """Query the pipeline's tables with Spark SQL.

    The view event_log is the event log. The view cloud_files_state tells what became of each source file, and
    cloud_files_state(TABLE(name)) of those of one table. All rows of the result are printed, so put a LIMIT on a
    query over a large table.
    """
    enter(config)
    from penstock.cli.file_state import CLOUD_FILES_STATE, FileState
    from penstock.graph.identifier import Identifier
    from penstock.observe.stored.tables import external_tables
    from penstock.runtime.commands.query import run_sql

    files, tables = FileState(config), set[Identifier]()
    progress_lines()("Starting Spark …")
    with only_results_on_stdout():
        columns, rows = run_sql(
            config,
            statement,
            views={CLOUD_FILES_STATE: files.view()},
            functions={CLOUD_FILES_STATE: files.function()},
            elsewhere=lambda: external_tables(config.storage),
            tables=tables,
        )
    record_read(config, "sql", tables, len(rows), {"statement": statement})
    print_rows(columns, rows, as_json=as_json)
    if not as_json:
        note(plural(len(rows), "row"))
