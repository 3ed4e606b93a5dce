"""`penstock checkpoint repartition`: the state of a flow in another number of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.checkpoints.checkpoint import FlowName, open_inventory
from penstock.cli.commands.checkpoints.checkpoint_changes import Yes, alone, confirm, log_action
from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, plural, print_json, progress_lines
from penstock.cli.screen.quiet_stdout import only_results_on_stdout

if TYPE_CHECKING:
    from penstock.care.checkpoints.repartitioning import Repartition


@project_command()
def repartition(
    *,
    flow: FlowName,
    partitions: Annotated[int, typer.Option("--partitions", metavar="N", help="Into how many partitions.")],
    config: Project,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Divide the state of a flow into another number of partitions, as many as can work on it at once. Uses Spark.

    A state keeps the number that it was made with, whatever the settings say. The old checkpoint is kept. Refused
    without state, and while a batch is in flight. If it is interrupted, the flow has its old checkpoint or the new one.
    """
    from penstock.care.checkpoints.repartitioning import plan_repartition

    planned = plan_repartition(open_inventory(config), flow, partitions, default_schema=config.schema)
    confirm(f"{_words(planned)} Divide it?", yes=yes)
    enter(config, writes=True)
    from penstock.runtime.commands.repartition import repartition_state

    with alone(config) as inventory, only_results_on_stdout():
        planned = plan_repartition(inventory, flow, partitions, default_schema=config.schema)
        dataset, name = str(planned.checkpoint.dataset), planned.checkpoint.flow
        log_action(config, "REPARTITION_CHECKPOINT", {"partitions": partitions}, dataset, name)
        done = repartition_state(
            config,
            planned.checkpoint.folder,
            present=planned.present,
            partitions=partitions,
            flow=planned.checkpoint.name,
            dataset=dataset,
            progress=progress_lines(),
        )
    if as_json:
        numbers = {"partitions": partitions, "before": planned.present, "last_batch": done.batch}
        print_json({"dataset": dataset, "flow": name, **numbers, "kept": done.kept})
        return
    note(f"{planned.checkpoint.name}: its state has {plural(partitions, 'partition')}; batch {done.batch} did it.")
    note(f"  The old checkpoint is kept at {done.kept}")


def _words(planned: Repartition) -> str:
    present, wanted = plural(planned.present, "partition"), plural(planned.wanted, "partition")
    return f"{planned.checkpoint.name}: its state has {present} and gets {wanted}."
