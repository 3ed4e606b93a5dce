"""`penstock adopt TABLE --checkpoint PATH`: goes on where a plain streaming query has stopped."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.checkpoints.checkpoint_changes import Yes, confirm, log_action
from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, plural, print_json, progress_lines, say
from penstock.cli.screen.quiet_stdout import only_results_on_stdout

if TYPE_CHECKING:
    from penstock.runtime.commands.adopted_state import Adoption, StateProof


@project_command()
def adopt(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The dataset, declared with the path of the table.")],
    checkpoint: Annotated[str, typer.Option("--checkpoint", metavar="PATH", help="The query's checkpointLocation.")],
    config: Project,
    flow: Annotated[str | None, typer.Option("--flow", metavar="NAME", help="The flow, if it has several.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is found, and what would be done.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take over a Delta table of a plain streaming query, and how far it has read. Uses Spark; stop the query first.

    The next run goes on with the next row: nothing is lost or doubled. Refused, with the reason, where that cannot be
    exact. State goes along, once a batch that is run again has given the table's rows and left the query's state. The
    query's own checkpoint is not changed, and the table gets no row before the next run.
    """
    from penstock.storage import lock_for_command

    enter(config, writes=not dry_run)
    from penstock.runtime.commands.adopt import Adopter

    with only_results_on_stdout():
        adopter = Adopter(config, progress_lines())
        planned = adopter.plan(table, checkpoint, flow)
        proof = adopter.prove(planned, progress_lines())
        if not as_json:
            _show(planned, proof)
        if not dry_run:
            confirm(f"Go on with {planned.dataset} where the query has stopped?", yes=yes)
            with lock_for_command(config.storage):
                planned = adopter.plan(table, checkpoint, flow)
                name = planned.flow.declaration.name
                log_action(config, "ADOPT", {"checkpoint": planned.folder.uri}, str(planned.dataset), name)
                adopter.adopt(planned)
    if as_json:
        print_json(_document(planned, proof, adopted=not dry_run))
    elif not dry_run:
        note(f"{planned.dataset} is taken over; do not start the query again. Next: penstock run")


def _show(planned: Adoption, proof: StateProof | None) -> None:
    last = "none" if planned.batch is None else str(planned.batch)
    say(f"{planned.dataset}: the table at {planned.path}, version {planned.version}, {plural(planned.files, 'file')}")
    say(f"  query {planned.query_id}, newest committed batch {last}")
    if planned.in_flight is not None:
        say(f"  batch {planned.in_flight} was planned and not committed: it runs again, once")
    for source, name in planned.sources:
        say(f"  {source} goes on as {name}: {source.reached}")
    if proof is not None:
        rows, left = plural(proof.rows, "row"), plural(proof.state_rows, "row")
        say(f"  its state goes on: batch {proof.batch}, run again, gives the {rows} of version {proof.version}")
        say(f"  and leaves the same {left} of state")
    for step in planned.steps:
        say(f"  the next run changes the table: {step}")
    for folder in planned.elsewhere:
        say(f"  a shallow clone: rows of it lie in {folder}; VACUUM of that table takes them away")
    say("  rows that could be missing or come twice: none")


def _document(planned: Adoption, proof: StateProof | None, *, adopted: bool) -> dict[str, object]:
    return {
        "dataset": str(planned.dataset),
        "flow": planned.flow.declaration.name,
        "table": planned.path,
        "version": planned.version,
        "query_id": planned.query_id,
        "last_batch": planned.batch,
        "in_flight": planned.in_flight,
        "sources": [
            {"name": name, "kind": source.kind.name, "places": sorted(source.places)}
            for source, name in planned.sources
        ],
        "state": None if proof is None else asdict(proof),
        "changes": list(planned.steps),
        "files_in": list(planned.elsewhere),
        "checkpoint": planned.place,
        "adopted": adopted,
    }
