"""`penstock checkpoint`: inspects the flows' checkpoints, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, print_table, say

if TYPE_CHECKING:
    from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
    from penstock.config import PipelineConfig

FlowName = Annotated[
    str, typer.Argument(metavar="FLOW", help="The flow or its table; 'DATASET/FLOW' where names are not enough.")
]
Flows = Annotated[
    list[str] | None, typer.Option("--flow", metavar="FLOW", help="Only this flow; may be given several times.")
]


@project_command()
def list_all(
    *,
    config: Project,
    as_json: AsJson = False,
) -> None:
    """List the checkpoints: how far each flow has read, and which generation the next run goes on with.

    Also those of flows that the pipeline no longer declares. A full refresh begins a new generation and keeps the
    old ones. A batch in flight was planned and not finished: the next run does it again, with the same rows.
    """
    inventory = open_inventory(config)
    found = inventory.checkpoints
    if as_json:
        print_json([each.to_json() for each in found])
        return
    if not found:
        say("There is no checkpoint yet; a flow has one after its first run.")
        return
    headings = [("flow", False), ("gen", True), ("batch", True), ("in flight", True), ("size", True), ("age", True)]
    print_table([*headings, ("", False)], [_row(each) for each in found])


@project_command()
def show(
    *,
    flow: FlowName,
    config: Project,
    as_json: AsJson = False,
) -> None:
    """Show what a checkpoint says: the newest batches, up to where they read, watermark, state, and its table.

    Shows the generation that the next run goes on with, or the newest one when there is none. How many rows the
    state holds is not in a checkpoint: `penstock status` tells.
    """
    from penstock.care.checkpoints.description import describe

    inventory = open_inventory(config)
    described = [
        describe(inventory, each) for each in current_generations(inventory.select(flow, default_schema=config.schema))
    ]
    if as_json:
        print_json(described)
        return
    for number, one in enumerate(described):
        say(("\n" if number else "") + "\n".join(_description(one)))


@project_command()
def verify(
    *,
    config: Project,
    flow: Flows = None,
    as_json: AsJson = False,
) -> None:
    """Check the checkpoints that the next run goes on with: each file, gaps, and whether they fit their tables.

    Changes nothing. Exits with 3 when anything is wrong. While a run works the newest files can change under the
    check, so look again after it.
    """
    from penstock.care.checkpoints.verify import verify as verify_checkpoints
    from penstock.errors import render
    from penstock.storage import is_locked

    inventory = open_inventory(config)
    chosen, flows = inventory.checkpoints, list(inventory.records)
    if flow:
        chosen, flows = inventory.narrow(flow, default_schema=config.schema)
    found = verify_checkpoints(inventory, chosen, flows)
    if as_json:
        checked = [each.to_json() for each in found.checked]
        print_json({"checked": checked, "findings": [finding.to_json() for finding in found.findings]})
    else:
        for finding in found.findings:
            say(render(finding))
        waiting = [each for each in found.checked if each.folder.in_flight is not None]
        for each in waiting:
            note(f"{each.name}: batch {each.folder.in_flight} is in flight; the next run does it again.")
        outcome = plural(len(found.findings), "finding") if found.findings else "nothing wrong"
        note(f"{plural(len(found.checked), 'checkpoint')} checked: {outcome}.")
        if is_locked(inventory.storage):
            note("A run works on this storage; what it writes meanwhile can look damaged.")
    if found.findings:
        raise typer.Exit(3)


def open_inventory(config: PipelineConfig) -> Inventory:
    """Returns the checkpoints of the pipeline's storage, with what its log says about them."""
    from penstock.care.checkpoints.inventory import Inventory
    from penstock.events.log.reader import read_events

    return Inventory(config.storage, read_events(config.storage))


def current_generations(found: tuple[StoredCheckpoint, ...]) -> list[StoredCheckpoint]:
    """Returns the generation in use of each flow, else its newest."""
    newest: dict[str, StoredCheckpoint] = {}
    for each in found:
        if each.in_use or each.name not in newest or not newest[each.name].in_use:
            newest[each.name] = each
    return list(newest.values())


def _row(checkpoint: StoredCheckpoint) -> list[object]:
    from penstock.observe.numbers import byte_size, count

    folder = checkpoint.folder
    remarks = [] if checkpoint.in_use else ["not in use"]
    if not checkpoint.declared:
        remarks.append("not declared")
    return [
        checkpoint.name,
        checkpoint.generation,
        count(folder.committed),
        count(folder.in_flight),
        byte_size(folder.size),
        _age(folder.changed),
        ", ".join(remarks),
    ]


def _age(changed: float | None) -> str:
    from penstock.observe.numbers import UNKNOWN, duration_ms

    if changed is None:
        return UNKNOWN
    seconds = max(0.0, datetime.now(UTC).timestamp() - changed)
    days = int(seconds // 86_400)
    return plural(days, "day") if days else duration_ms(1000 * round(seconds))


def _description(one: dict[str, Any]) -> list[str]:
    from penstock.observe.numbers import byte_size

    use = "in use" if one["in_use"] else "not in use"
    lines = [
        f"{one['dataset']}, flow {one['flow']}, generation {one['generation']} ({use})",
        f"  query id   {one['query_id'] or 'cannot be read'}",
        f"  folder     {one['path']}",
        f"  watermark  {one['watermark'] or 'none'}",
    ]
    lines += [f"  source     {name}: {description}" for name, description in one["sources"].items()]
    lines += _target_lines(one)
    state = one["state"]
    if state is not None:
        provider = str(state["provider"] or "unknown provider").rpartition(".")[2]
        lines.append(f"  state      {byte_size(state['bytes'])}, {provider}")
        lines += [_operator_line(operator) for operator in state["operators"]]
    for batch in one["batches"]:
        done = "committed" if batch["committed"] else "in flight"
        lines.append(f"  batch {batch['batch']}, {done}, planned {batch['planned'] or 'cannot be read'}")
        lines += [f"    {source}: {_offset(offset)}" for source, offset in (batch["offsets"] or {}).items()]
    return lines


def _target_lines(one: dict[str, Any]) -> list[str]:
    target = one["target"]
    if target is None:
        return ["  table      none in this storage"]
    if "error" in target:
        return [f"  table      cannot be read: {target['error']['message']}"]
    batch, version = target["last_batch"], target["version_of_last_batch"]
    if batch is None:
        known = "holds no batch of this query"
    else:
        known = f"holds batch {batch}" + ("" if version is None else f", written by version {version}")
    return [f"  table      version {target['version']}; {known}", f"             {target['path']}"]


def _operator_line(operator: dict[str, Any]) -> str:
    if operator["name"] is None:
        return f"    operator {operator['operator']}: cannot be read"
    stores = ", ".join(f"{store['name']} in {plural(store['partitions'], 'partition')}" for store in operator["stores"])
    return f"    operator {operator['operator']}: {operator['name']} ({stores})"


def _offset(offset: Any) -> str:
    """What an offset means: a step of a file source, a version of a Delta table, offsets of a topic."""
    import json

    match offset:
        case {"logOffset": step, "files": files}:
            return f"step {step}, {plural(files, 'file')}"
        case {"logOffset": step}:
            return f"step {step}"
        case {"reservoirVersion": version, "index": index}:
            # Index -1 is before the version's first file.
            return f"up to version {version - 1}" if index == -1 else f"version {version}, up to file {index}"
        case _:
            return json.dumps(offset)
