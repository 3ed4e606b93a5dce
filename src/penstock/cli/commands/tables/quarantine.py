"""`penstock quarantine`: rows that break a rule, to look at and to send through again."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import read_check, record_read
from penstock.cli.screen.console import note, plural, progress_lines

Table = Annotated[str, typer.Argument(metavar="TABLE", help="The table or view, with or without the schema.")]


@project_command()
def show(
    *,
    table: Table,
    config: Project,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many rows.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the quarantined rows of a table, the newest first, with the rules that they break.

    `--json` prints them with all columns of the quarantine.
    """
    from penstock.cli.screen.rows import print_rows, rows_with_origin
    from penstock.graph.companions.quarantine import BATCH, FLOW, RESERVED_PREFIX, RULES, SOURCE, TIME
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.companions import find_quarantine, summarize_quarantine
    from penstock.observe.stored.tables import read_table

    found = find_quarantine(
        config.storage, table, default_schema=config.schema, events=read_definitions(config.storage)
    )
    read_check(config, "quarantine show", {"limit": limit})(found.identifier)
    content = read_table(found, limit=limit, sort=TIME, descending=True)
    record_read(config, "quarantine show", [found.identifier], len(content.rows), {"limit": limit})
    if as_json:
        print_rows(content.columns, content.rows, as_json=True)
        return
    before, behind = {RULES: "breaks"}, {TIME: "time", FLOW: "flow", BATCH: "batch"}
    columns, rows = rows_with_origin(content, RESERVED_PREFIX, before, behind, SOURCE)
    for row in rows:
        row[0] = ", ".join(row[0] or ())
    print_rows(columns, rows, as_json=False, title=str(found.identifier))
    summary = summarize_quarantine(found)
    rules = "; ".join(f"{name}: {count:,}" for name, count in summary.by_rule)
    note(f"{plural(summary.rows, 'row')} in quarantine" + (f" ({rules})" if rules else ""))
    if summary.rows:
        note(f"Stored at {found.uri}; once they are repaired: penstock quarantine replay {table}")


@project_command(settings=True)
def replay(
    *,
    table: Table,
    config: Project,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Only the rows that meet this condition.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send the quarantined rows of a streaming table through its expectations again.

    Rows that pass now move into the table, each once, whatever happens meanwhile; the others stay, with
    the rules that they break now. Events of a change flow are applied by key, in the order of their sequence.
    Repair the rule or the rows first.
    """
    from penstock.cli.screen.console import print_json
    from penstock.cli.screen.quiet_stdout import only_results_on_stdout

    enter(config, writes=True)
    from penstock.runtime.commands.replay import replay_quarantine

    progress = progress_lines()
    with only_results_on_stdout():
        outcome = replay_quarantine(config, table, where=where, progress=progress)
    if as_json:
        counts = {"replayed": outcome.replayed, "remaining": outcome.remaining}
        print_json({"table": str(outcome.table), **counts, "gone_flows": list(outcome.gone_flows)})
        return
    note(f"{plural(outcome.replayed, 'row')} moved into {outcome.table}, {outcome.remaining:,} still in quarantine.")
    if outcome.gone_flows:
        note(
            f"Events of flows that are not declared stay: {', '.join(outcome.gone_flows)}. "
            "Set their _quarantine_flow to a flow that shall apply them."
        )
