"""Which checkpoints are taken away so that a flow starts from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.care.checkpoints.inventory import Inventory, flow_label
from penstock.care.checkpoints.rules import present_checkpoint
from penstock.graph.identifier import Identifier


@dataclass(frozen=True, slots=True)
class FlowToReset:
    """A flow, and the newest generation of its checkpoint that goes; the older ones go with it."""

    dataset: Identifier
    flow: str
    generation: int

    @property
    def name(self) -> str:
        """What commands call the flow."""
        return flow_label(self.dataset, self.flow)


def to_reset(inventory: Inventory, flow: str, *, default_schema: str) -> tuple[FlowToReset, ...]:
    """Returns the flows called `flow` that have a checkpoint, or have lost theirs; see `Inventory.select` for names.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
        StateError: TABLE_NOT_READABLE.
    """
    checkpoints, records = inventory.narrow([flow], default_schema=default_schema)
    newest: dict[tuple[Identifier, str], int] = {}
    in_use: dict[tuple[Identifier, str], int] = {}
    for each in checkpoints:
        newest[each.dataset, each.flow] = each.generation
        if each.in_use:
            in_use[each.dataset, each.flow] = each.generation
    found = newest | in_use
    for record in records:
        if (record.dataset, record.flow) not in found and any(present_checkpoint(inventory, record)):
            target = inventory.target(record.dataset)
            found[record.dataset, record.flow] = 0 if target is None else target.generation
    if not found:
        inventory.select(flow, default_schema=default_schema)
    return tuple(FlowToReset(*key, generation) for key, generation in found.items())
