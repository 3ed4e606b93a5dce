"""`penstock quarantine`: rows that break a rule, to look at and to send through again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, plural, progress_lines

if TYPE_CHECKING:
    from penstock.observe.stored.tables import TableRows

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
    from penstock.cli.screen.rows import print_rows
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.quarantine import find_quarantine, newest_rows, summarize

    found = find_quarantine(
        config.storage, table, default_schema=config.schema, events=read_definitions(config.storage)
    )
    content = newest_rows(found, limit=limit)
    if as_json:
        print_rows(content.columns, content.rows, as_json=True)
        return
    columns, rows = _for_people(content)
    print_rows(columns, rows, as_json=False, title=str(found.identifier))
    summary = summarize(found)
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


def _for_people(content: TableRows) -> tuple[list[str], list[list[Any]]]:
    """Puts the rules first, then the row, then when and whence; leaves out what only programs need."""
    from penstock.cli.screen.rows import origin
    from penstock.graph.companions import quarantine

    position = {name: index for index, name in enumerate(content.columns)}
    data = [name for name in content.columns if not name.startswith(quarantine.RESERVED_PREFIX)]
    ends = [(quarantine.TIME, "time"), (quarantine.FLOW, "flow"), (quarantine.BATCH, "batch")]
    rows = [
        [
            ", ".join(row[position[quarantine.RULES]] or ()),
            *(row[position[name]] for name in data),
            *(row[position[name]] for name, _ in ends),
            origin(row[position[quarantine.SOURCE]]),
        ]
        for row in content.rows
    ]
    return ["breaks", *data, *(heading for _, heading in ends), "source"], rows
