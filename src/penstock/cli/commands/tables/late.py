"""`penstock late`: rows that came behind the watermark, to look at and to take into account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, plural, progress_lines

if TYPE_CHECKING:
    from penstock.observe.stored.tables import TableRows


@project_command()
def show(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, with or without the schema.")],
    config: Project,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the rows that a table's flows dropped because they came behind the watermark, the newest first.

    Each with its event time, the watermark, how far it was behind, the operator that dropped it, and where it comes
    from. `--json` prints them with all columns.
    """
    from penstock.cli.screen.rows import print_rows, rows_with_origin
    from penstock.graph.companions.late_rows import (
        BATCH,
        FLOW,
        OPERATOR,
        RESERVED_PREFIX,
        SECONDS,
        SOURCE,
        TIME,
        WATERMARK,
    )
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.companions import find_late_rows, summarize_late_rows
    from penstock.observe.stored.tables import read_table

    found = find_late_rows(config.storage, table, default_schema=config.schema, events=read_definitions(config.storage))
    read_check(config, "late show", {"limit": limit})(found.identifier)
    content = read_table(found, limit=limit, sort=TIME, descending=True)
    record_read(config, "late show", [found.identifier], len(content.rows), {"limit": limit})
    if as_json:
        print_rows(content.columns, content.rows, as_json=True)
        return
    before = {SECONDS: "seconds late", WATERMARK: "watermark"}
    behind = {OPERATOR: "dropped by", FLOW: "flow", BATCH: "batch"}
    columns, rows = rows_with_origin(content, RESERVED_PREFIX, before, behind, SOURCE)
    print_rows(columns, rows, as_json=False, title=str(found.identifier))
    summary = summarize_late_rows(found)
    most = "" if summary.most_seconds is None else f", up to {summary.most_seconds:,.0f} s behind the watermark"
    note(f"{plural(summary.rows, 'late row')}{most}")
    note(f"Stored at {found.uri}")
    if _are_of_windows(content):
        note(f"To bring them into their windows: penstock late reprocess {table}")


@project_command(settings=True)
def reprocess(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, with or without the schema.")],
    config: Project,
    as_json: AsJson = False,
) -> None:
    """Compute the windows again that have late rows, with these rows, and replace them in the table.

    The rows come from the tables that the flow reads, up to where it has read them, and each window is replaced as a
    whole, all in one commit. Then its late rows are removed. It is refused, with the reason, where the result could
    differ from what the flow would have written, had the rows come in time.
    """
    from penstock.cli.screen.console import print_json
    from penstock.cli.screen.quiet_stdout import only_results_on_stdout

    enter(config, writes=True)
    from penstock.runtime.commands.late_reprocessing import reprocess_late_rows

    progress = progress_lines()
    with only_results_on_stdout():
        done = reprocess_late_rows(config, table, progress=progress)
    if as_json:
        print_json({"table": str(done.table), "windows": done.windows, "late_rows": done.late_rows})
        return
    note(f"{plural(done.windows, 'window')} of {done.table} computed again, with {plural(done.late_rows, 'late row')}.")


def _are_of_windows(content: TableRows) -> bool:
    """Whether there are rows that belong to a window of fixed length: a late row can join two sessions into one."""
    from penstock.graph.companions.late_rows import OPERATOR

    operator = content.columns.index(OPERATOR)
    return "session_window" not in content.columns and any(row[operator] == "aggregate" for row in content.rows)
