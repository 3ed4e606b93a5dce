"""`penstock checkpoint rewind`: batches again, from a certain one on. No Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.checkpoints.checkpoint import FlowName
from penstock.cli.commands.checkpoints.checkpoint_changes import Yes, alone, confirm, log_action
from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, print_json
from penstock.errors import StateError

if TYPE_CHECKING:
    from penstock.care.checkpoints.rewinding import Rewind
    from penstock.storage import Storage


@project_command()
def rewind(
    *,
    flow: FlowName,
    to_batch: Annotated[int, typer.Option("--to-batch", metavar="N", help="The newest batch that stays.", min=0)],
    config: Project,
    force: Annotated[
        bool, typer.Option("--force", help="Also when streams that read the table stop, because rows go.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take a flow and its table back to a batch; the next run does all later ones again, from the same place.

    The table gets the rows of the version before the later batches, in a new commit, so each row is there once. The
    old checkpoint is kept. Refused for sinks and change flows, where somebody else has changed rows since, and when
    the state, the table's log or its files no longer reach back. If it is interrupted, a run is refused until the same
    command has completed it.
    """
    from penstock.care.checkpoints.rewinding import plan_rewind
    from penstock.cli.commands.checkpoints.checkpoint import open_inventory
    from penstock.events.flows.records import REWIND

    planned = plan_rewind(open_inventory(config), flow, to_batch, default_schema=config.schema, force=force)
    confirm(f"{_words(planned)} Go back?", yes=yes)
    with alone(config) as inventory:
        planned = plan_rewind(inventory, flow, to_batch, default_schema=config.schema, force=force)
        dataset, name = planned.checkpoint.dataset, planned.checkpoint.flow
        log_action(config, REWIND, {"to_batch": to_batch}, str(dataset), name)
        previous = _execute(inventory.storage, planned)
    if as_json:
        again = [planned.again.start, planned.again.stop - 1]
        tables = [{"path": each.table.uri, "version": each.version} for each in planned.tables]
        done = {"dataset": str(dataset), "flow": name, "last_batch": to_batch, "again": again}
        print_json({**done, "tables": tables, "kept": previous})
        return
    note(_words(planned))
    note(f"  The old checkpoint is kept at {previous}")


def _execute(storage: Storage, planned: Rewind) -> str:
    """The note comes first and goes with the old checkpoint: between the two nothing else may use it."""
    from penstock.storage.checkpoint.changes import forget_rewind, note_rewind
    from penstock.storage.checkpoint.changes import rewind as put_back

    folder, restored = planned.checkpoint.folder, 0
    begun = folder.rewinding_to() is not None
    note_rewind(folder, planned.batch)
    try:
        for each in planned.tables:
            each.table.restore(each.version)
            restored += 1
    except StateError:
        if not restored and not begun:
            forget_rewind(folder)
        raise
    return put_back(storage, folder, planned.batch)


def _words(planned: Rewind) -> str:
    first, last = planned.again.start, planned.again.stop - 1
    batches = f"batch {first} is" if first == last else f"batches {first} to {last} are"
    tables = " and ".join(f"{each.table.name} to version {each.version}" for each in planned.tables)
    return (
        f"{planned.checkpoint.name}: {batches} done again{f'; {tables}' if tables else ', which have written no rows'}."
    )
