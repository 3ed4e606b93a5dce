"""`penstock sql "SELECT …"`: a query over the pipeline's tables, by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, plural, progress_lines
from penstock.cli.options import AsJson, Directory, Environment, Pipeline, Settings, StorageUri
from penstock.cli.project import enter, open_project
from penstock.cli.quiet_stdout import only_results_on_stdout
from penstock.cli.rows import print_rows


def sql(
    *,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="Spark SQL; tables by their pipeline names.")],
    directory: Directory = Path(),
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Query the pipeline's tables with Spark SQL.

    All rows of the result are printed, so put a LIMIT on a query over a large table.
    """
    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, set_=set_)
    enter(config)
    from penstock.runtime.query import run_sql

    progress_lines()("Starting Spark …")
    with only_results_on_stdout():
        columns, rows = run_sql(config, statement)
    print_rows(columns, rows, as_json=as_json)
    if not as_json:
        note(plural(len(rows), "row"))
