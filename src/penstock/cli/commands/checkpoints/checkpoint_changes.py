"""`penstock checkpoint backup | restore | rebuild | reset`: copies of checkpoints, and what replaces them. No Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.checkpoints.checkpoint import FlowName, Flows, open_inventory
from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
    from penstock.config import PipelineConfig

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@project_command()
def backup(
    *,
    to: Annotated[str, typer.Argument(metavar="TO", help="A new folder, or a URI; outside of the storage.")],
    config: Project,
    flow: Flows = None,
    as_json: AsJson = False,
) -> None:
    """Copy the checkpoints that the next run goes on with, under the storage's lock, with a manifest of checksums.

    Refused while a run works, and for a checkpoint with which something is wrong. Tables are not copied: a
    checkpoint fits its table as long as no later batch is in it.
    """
    from penstock.care.checkpoints.verify import verify
    from penstock.storage.checkpoint.backup import CheckpointToCopy, write_backup

    with alone(config) as inventory:
        chosen = [each for each in _chosen(inventory, flow, config.schema) if each.in_use]
        if not chosen:
            raise ConfigError("CHECKPOINT_NOT_FOUND", name="any", storage=config.storage, hint="It holds none in use.")
        for finding in verify(inventory, chosen, ()).findings:
            raise finding
        copied = [
            CheckpointToCopy(
                each.dataset.schema, each.dataset.name, each.flow, each.generation, each.folder, each.dataset.catalog
            )
            for each in chosen
        ]
        made = write_backup(to, inventory.storage, copied)
    if as_json:
        print_json({"backup": made.uri, "checkpoints": [each.to_json() for each in chosen]})
        return
    note(f"{plural(len(chosen), 'checkpoint')} copied to {made.uri}")
    for each in chosen:
        note(f"  {each.name}, generation {each.generation}")


@project_command()
def restore(
    *,
    source: Annotated[str, typer.Argument(metavar="FROM", help="The folder or URI of a backup.")],
    config: Project,
    flow: Flows = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also when the table went on since: its newer rows come twice.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put checkpoints of a backup in the place of the present ones, which are kept beside them.

    Refused when a table holds batches that came after the backup: the flow would read them again. With `--force` it
    does, and they are written twice, unless the table has been taken back as well. Change flows and complete flows
    come to the same rows in any case.
    """
    from penstock.care.checkpoints.restoring import dataset_of, plan_restore
    from penstock.storage.checkpoint.backup import read_backup
    from penstock.storage.checkpoint.changes import restore as put_back

    found = read_backup(source)
    planned = plan_restore(open_inventory(config), found, flow, default_schema=config.schema, force=force)
    names = [f"{dataset_of(each.copied)}/{each.copied.flow}" for each in planned]
    repeating = [name for name, each in zip(names, planned, strict=True) if each.new_query]
    again = f" {', '.join(repeating)}: rows since then are written again." if repeating else ""
    confirm(f"Put back the checkpoints of {found.created} for {', '.join(names)}?{again}", yes=yes)
    with alone(config) as inventory:
        planned = plan_restore(inventory, found, flow, default_schema=config.schema, force=force)
        for each in planned:
            arguments = {"from": found.uri, "force": force}
            log_action(config, "RESTORE_CHECKPOINT", arguments, str(dataset_of(each.copied)), each.copied.flow)
        previous = put_back(inventory.storage, found, planned)
    restored = [
        {
            "dataset": str(dataset_of(each.copied)),
            "flow": each.copied.flow,
            "generation": each.copied.generation,
            "last_batch": each.copied.committed,
            "writes_again": each.new_query,
            "kept": place,
        }
        for each, place in zip(planned, previous, strict=True)
    ]
    if as_json:
        print_json({"backup": found.uri, "restored": restored})
        return
    for one in restored:
        note(f"{one['dataset']}, flow {one['flow']}: batch {one['last_batch']} is the newest one again.")
        if one["kept"] is not None:
            note(f"  What was there is kept at {one['kept']}")


@project_command()
def reset(
    *,
    flow: FlowName,
    config: Project,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let a flow read its sources from the beginning, while its table keeps its rows. Asks.

    What the sources still hold is written again, so an append flow's rows come twice; change flows and complete
    flows come to the same rows. `penstock run --full-refresh` empties the table as well. The old checkpoint is kept.
    """
    from penstock.care.checkpoints.resetting import to_reset
    from penstock.events.flows.records import RESET
    from penstock.storage.checkpoint.changes import reset as take_away

    chosen = to_reset(open_inventory(config), flow, default_schema=config.schema)
    names = ", ".join(each.name for each in chosen)
    confirm(f"Read everything again for {names}? The table keeps its rows, so those of append flows double.", yes=yes)
    done: list[dict[str, Any]] = []
    with alone(config) as inventory:
        for each in to_reset(inventory, flow, default_schema=config.schema):
            log_action(config, RESET, {"generation": each.generation}, str(each.dataset), each.flow)
            previous = take_away(inventory.storage, each.dataset, each.flow, each.generation)
            done.append({"dataset": str(each.dataset), "flow": each.flow, "kept": list(previous)})
    if as_json:
        print_json({"reset": done})
        return
    for one in done:
        note(f"{one['dataset']}, flow {one['flow']}: the next run reads from the beginning.")
        if one["kept"]:
            note(f"  The old checkpoint is kept at {', '.join(one['kept'])}")


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
    from penstock.storage.checkpoint.changes import rebuild as make_again

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


@contextmanager
def alone(config: PipelineConfig) -> Iterator[Inventory]:
    """Holds the storage's lock, and reads the checkpoints once no other process can change them."""
    from penstock.storage import lock_for_command

    with lock_for_command(config.storage):
        yield open_inventory(config)


def _chosen(inventory: Inventory, names: list[str] | None, default_schema: str) -> tuple[StoredCheckpoint, ...]:
    if not names:
        return inventory.checkpoints
    return inventory.narrow(names, default_schema=default_schema, recorded=False)[0]


def confirm(question: str, *, yes: bool) -> None:
    """Asks, unless `yes`; raises ConfigError CHECKPOINT_CHANGE_NOT_CONFIRMED where there is no terminal to ask at."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("CHECKPOINT_CHANGE_NOT_CONFIRMED", question=question)
    typer.confirm(question, abort=True, err=True)


def log_action(config: PipelineConfig, action: str, arguments: dict[str, Any], dataset: str, flow: str) -> None:
    """Notes what was requested, before it is done: a process may die in between, a later one then completes it."""
    from penstock.events import EventLog, EventType, builders, new_update_id

    with EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log:
        event = builders.user_action(action, arguments=arguments)
        log.append(EventType.USER_ACTION, *event, dataset=dataset, flow=flow)
