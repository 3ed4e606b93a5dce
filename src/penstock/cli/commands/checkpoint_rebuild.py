"""`penstock checkpoint rebuild`: makes a lost checkpoint again. No Spark."""

from __future__ import annotations

from penstock.cli.commands.checkpoint import FlowName, open_inventory
from penstock.cli.commands.checkpoint_changes import Yes, alone, confirm, log_action
from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, print_json


@project_command()
def rebuild(
    *,
    flow: FlowName,
    config: Project,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make the lost checkpoint of a flow again, from the event log and the batches that its table holds.

    For flows without state that read Kafka, Delta tables or other sources whose offsets say everything; refused, with
    the reason, for the rest. The next run goes on behind the newest batch: nothing is lost or doubled.
    """
    from penstock.care.checkpoints.rebuilding import plan_rebuild
    from penstock.storage.checkpoint import rebuild as make_again

    planned = plan_rebuild(open_inventory(config), flow, default_schema=config.schema)
    confirm(f"Make the checkpoint of {planned.name} again, as it was after batch {max(planned.batches)}?", yes=yes)
    with alone(config) as inventory:
        planned = plan_rebuild(inventory, flow, default_schema=config.schema)
        newest, record = max(planned.batches), planned.record
        log_action(config, "REBUILD_CHECKPOINT", {"batch": newest}, str(record.dataset), record.flow)
        make_again(inventory.storage, planned.place, planned.query_id, planned.batches, record.settings)
    if as_json:
        print_json({"dataset": str(record.dataset), "flow": record.flow, "last_batch": newest, "path": planned.place})
        return
    note(f"{planned.name}: batch {newest} is the newest one; the checkpoint is at {planned.place}")
