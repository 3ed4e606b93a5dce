"""Whether a flow's state can be divided into another number of partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.care.checkpoints.verify import verify
from penstock.storage.checkpoint.partitions import why_not_divided
from penstock.storage.checkpoint.state import state_partitions


@dataclass(frozen=True, slots=True)
class Repartition:
    """A checkpoint whose state, now in `present` partitions, shall have `wanted`."""

    checkpoint: StoredCheckpoint
    present: int
    wanted: int


def plan_repartition(inventory: Inventory, name: str, partitions: int, *, default_schema: str) -> Repartition:
    """Returns what it takes to divide a flow's state into so many partitions; see `Inventory.select` for names.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
        StateError: CHECKPOINT_REPARTITION_NOT_POSSIBLE, CHECKPOINT_REPARTITION_NOT_NEEDED, CHECKPOINT_BATCH_IN_FLIGHT,
            CHECKPOINT_STATE_NOT_DIVISIBLE, and what `verify` finds.
    """
    found = inventory.in_use(name, default_schema=default_schema)
    checkpoint, present = found[0], state_partitions(found[0].folder.storage)
    for reason in _reasons(found, present, partitions):
        raise checkpoint.refusal("CHECKPOINT_REPARTITION_NOT_POSSIBLE", partitions=partitions, reason=reason)
    assert present is not None
    for finding in verify(inventory, [checkpoint], ()).findings:
        raise finding
    if partitions == present:
        raise checkpoint.refusal("CHECKPOINT_REPARTITION_NOT_NEEDED", partitions=partitions)
    if (batch := checkpoint.folder.in_flight) is not None:
        raise checkpoint.refusal("CHECKPOINT_BATCH_IN_FLIGHT", batch=batch)
    if (kind := why_not_divided(checkpoint.folder)) is not None:
        raise checkpoint.refusal("CHECKPOINT_STATE_NOT_DIVISIBLE", reason=kind)
    return Repartition(checkpoint, present, partitions)


def _reasons(found: list[StoredCheckpoint], present: int | None, partitions: int) -> Iterator[str]:
    if len(found) > 1:
        yield f"the name matches several flows: {', '.join(each.name for each in found)}"
    elif partitions < 1:
        yield "a state has at least one partition"
    elif present is None:
        yield "it keeps no state, so the number of partitions is that of the settings"
