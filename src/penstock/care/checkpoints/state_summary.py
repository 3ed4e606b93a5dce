"""A summary of a flow's state from its checkpoint and the event log; the rows themselves only Spark can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.errors import ConfigError
from penstock.events import Event
from penstock.events.flows.progress import batch_progress_of
from penstock.storage.checkpoint.state import OperatorState, operators


@dataclass(frozen=True, slots=True)
class OperatorStateSummary:
    """A stateful operator; `bytes` are those of its files, of older versions too."""

    number: int
    name: str
    partitions: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The state of a flow as its newest finished `batch` has left it; `memory` is what it took then, in bytes."""

    checkpoint: StoredCheckpoint
    batch: int
    memory: int | None
    operators: tuple[OperatorStateSummary, ...]


def find_state(
    inventory: Inventory,
    events: Iterable[Event],
    table: str,
    *,
    flow: str | None,
    operator: int | None,
    default_schema: str,
) -> StateSummary:
    """Returns the stateful operators of the flow into a table, or one of them; `flow` names one of several flows.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND, FLOW_NOT_CHOSEN, STATE_OPERATOR_NOT_FOUND.
        StateError: STATE_NOT_KEPT, STATE_NOT_READABLE.
    """
    checkpoint = inventory.flow_into(table, flow, default_schema=default_schema)
    found = tuple(_operators(checkpoint))
    if not found:
        raise checkpoint.refusal("STATE_NOT_KEPT", reason="no operator of its query remembers anything")
    batch = checkpoint.folder.committed
    if batch is None:
        raise checkpoint.refusal("STATE_NOT_KEPT", reason="it has finished no batch")
    chosen = tuple(each for each in found if operator in {None, each.number})
    if not chosen:
        known = ", ".join(f"{each.number} ({each.name})" for each in found)
        raise ConfigError("STATE_OPERATOR_NOT_FOUND", flow=checkpoint.name, operator=operator, operators=known)
    return StateSummary(checkpoint, batch, _memory(events, checkpoint, batch), chosen)


def _operators(checkpoint: StoredCheckpoint) -> Iterator[OperatorStateSummary]:
    for number, described in operators(checkpoint.folder):
        if described is None:
            reason = f"the description of its operator {number} is missing or damaged"
            raise checkpoint.refusal("STATE_NOT_READABLE", reason=reason)
        yield OperatorStateSummary(number, described.name, _partitions(described), _bytes(checkpoint, number))


def _partitions(operator: OperatorState) -> int:
    return max((store.partitions for store in operator.stores), default=0)


def _bytes(checkpoint: StoredCheckpoint, operator: int) -> int:
    return sum(file.size for name, file in checkpoint.folder.files.items() if name.startswith(f"state/{operator}/"))


def _memory(events: Iterable[Event], checkpoint: StoredCheckpoint, batch: int) -> int | None:
    memory = None
    for event in events:
        origin = event.origin
        if origin.dataset_name == str(checkpoint.dataset) and origin.flow_name == checkpoint.flow:
            progress = batch_progress_of(event)
            if progress is not None and progress.batch_id <= batch and progress.state_bytes is not None:
                memory = progress.state_bytes
    return memory
