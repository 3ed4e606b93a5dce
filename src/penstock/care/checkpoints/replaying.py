"""Whether a batch of a flow can be run again beside its table, and what it has written there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.care.checkpoints.table_history import find_batch
from penstock.errors import StateError
from penstock.graph.flows.flow_type import FlowType
from penstock.plan.state import RecordedBatch
from penstock.storage import Storage
from penstock.storage.checkpoint.one_batch import repeatable_batches
from penstock.storage.checkpoint.state import missing_state_files, operators
from penstock.storage.delta.commits import holds_files_of, read_commit

_POSSIBLE = {FlowType.APPEND.value, FlowType.COMPLETE.value, FlowType.UPDATE.value}


def plan_replay(
    inventory: Inventory, table: str, batch: int, *, flow: str | None, default_schema: str
) -> RecordedBatch:
    """Returns what is recorded of a batch of the flow into a table; `flow` names one of several. Changes nothing.

    The flow may be running: what is inspected does not change any more, though it may be deleted.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND, FLOW_NOT_CHOSEN.
        StateError: REPLAY_BATCH_NOT_FOUND, REPLAY_NOT_POSSIBLE, TABLE_NOT_READABLE.
    """
    checkpoint = inventory.flow_into(table, flow, default_schema=default_schema)
    for reason in _reasons(inventory, checkpoint, batch):
        raise _impossible(checkpoint, batch, reason)
    target = inventory.target(checkpoint.dataset)
    assert target is not None, "the checkpoint is in use: the table names its generation"
    found = find_batch(target.uri, target.version, checkpoint.folder.query_id(), batch)
    if found is None:
        raise _impossible(checkpoint, batch, f"the log of {target.name} no longer reaches back to it")
    version, before = found
    storage = Storage(target.uri)
    content = None if version is None else read_commit(storage, version)
    if version is not None and not (content and holds_files_of(storage, content)):
        raise _impossible(checkpoint, batch, f"VACUUM has deleted the files of version {version} of {target.name}")
    return RecordedBatch(
        checkpoint.dataset,
        checkpoint.flow,
        checkpoint.name,
        batch,
        checkpoint.folder,
        target.uri,
        before,
        version,
    )


def _reasons(inventory: Inventory, checkpoint: StoredCheckpoint, batch: int) -> Iterator[str]:
    folder, kind = checkpoint.folder, inventory.record_of(checkpoint).flow_type
    if checkpoint.dataset in inventory.records.sinks:
        yield "what a sink has got cannot be read back"
    elif kind not in _POSSIBLE:
        yield f"it is a flow of kind '{kind}', which remembers more than its checkpoint and its table"
    known = repeatable_batches(folder)
    if not known:
        yield "its checkpoint has no finished batch"
    elif batch not in known:
        raise checkpoint.refusal("REPLAY_BATCH_NOT_FOUND", batch=batch, batches=_ranges(known), newest=known[-1])
    if (inherited := folder.inherited_batch()) is not None and batch <= inherited:
        yield f"up to batch {inherited} its rows came under another query id"
    for number, operator in operators(folder):
        if operator is None:
            yield f"the description of its stateful operator {number} cannot be read"
        elif missing := next(missing_state_files(folder, operator, batch), None):
            yield f"the state before it is no longer in its checkpoint: {missing} is gone"


def _ranges(numbers: Sequence[int]) -> str:
    """`0 to 3, 7`: neighbours together."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join(" to ".join(map(str, part)) for part in parts)


def _impossible(checkpoint: StoredCheckpoint, batch: int, reason: str) -> StateError:
    return checkpoint.refusal("REPLAY_NOT_POSSIBLE", batch=batch, reason=reason)
