"""Whether a flow's lost checkpoint can be made again, and from what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.care.checkpoints.inventory import Inventory, flow_label, flow_refusal
from penstock.care.checkpoints.target import Target
from penstock.errors import ConfigError, StateError
from penstock.events.flows.records import FlowRecord


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A checkpoint that is made at `place` from the offsets of its newest batches."""

    record: FlowRecord
    place: str
    query_id: str
    batches: Mapping[int, Mapping[str, Any]]

    @property
    def name(self) -> str:
        """What commands call the flow."""
        return flow_label(self.record.dataset, self.record.flow)


def plan_rebuild(inventory: Inventory, name: str, *, default_schema: str) -> Rebuild:
    """Returns what a flow's checkpoint is made from; see `Inventory.select` for names.

    The event log has up to where the newest batches have read, and the table which of them it holds.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
        StateError: CHECKPOINT_REBUILD_NOT_POSSIBLE, TABLE_NOT_READABLE.
    """
    _, records = inventory.narrow([name], default_schema=default_schema)
    queries = [each for each in records if each.query]
    if not queries:
        hint = "The event log knows no streaming flow of that name."
        raise ConfigError("CHECKPOINT_NOT_FOUND", name=name, storage=inventory.storage.uri, hint=hint)
    if len(queries) > 1:
        labels = ", ".join(flow_label(each.dataset, each.flow) for each in queries)
        raise _impossible(queries[0], f"'{name}' names several flows: {labels}")
    record = queries[0]
    target = inventory.target(record.dataset)
    for reason in _reasons(inventory, record, target):
        raise _impossible(record, reason)
    assert target is not None
    newest = record.checkpointed[max(record.checkpointed)]
    place = inventory.layout.checkpoint(record.dataset, record.flow, target.generation)
    batches = {number: each.offsets for number, each in record.checkpointed.items()}
    return Rebuild(record, place, newest.query_id, batches)


def _reasons(inventory: Inventory, record: FlowRecord, target: Target | None) -> Iterator[str]:
    own = [each for each in inventory.checkpoints if (each.dataset, each.flow) == (record.dataset, record.flow)]
    if any(each.in_use and each.folder.is_begun for each in own):
        yield "its checkpoint is there; 'penstock checkpoint verify' checks whether it is sound"
    if target is None:
        yield "it has no table in this storage that records which batches it holds"
        return
    if record.stateful:
        yield "it keeps state or a watermark, which only its checkpoint held"
    if not (record.checkpointed and record.settings):
        yield "the event log has no batch with the offsets that it reached; older versions of Penstock did not log them"
        return
    newest = max(record.checkpointed)
    batch = record.checkpointed[newest]
    if newest > 0 and set(record.checkpointed) != {newest - 1, newest}:
        yield f"the event log does not record the offsets that batch {newest - 1} has read, which Spark needs as well"
    for source, offset in batch.offsets.items():
        if isinstance(offset, dict) and set(offset) == {"logOffset"}:
            yield f"its source {source} reads files, and only its checkpoint knew which"
    if len({each.query_id for each in record.checkpointed.values()}) > 1:
        yield f"batch {newest - 1} was written under another query id"
    stored = target.newest_batch(batch.query_id)
    if stored is not None and stored > newest:
        yield f"its table holds batch {stored}, and the event log does not tell up to where that has read"
    if stored is None or stored < newest:
        missing = range(0 if stored is None else stored + 1, newest + 1)
        if any(record.written.get(each, 1) for each in missing):
            yield f"the event log tells of batch {newest}, and its table lacks rows of that: an older one was put back"


def _impossible(record: FlowRecord, reason: str) -> StateError:
    return flow_refusal(record, "CHECKPOINT_REBUILD_NOT_POSSIBLE", reason=reason)
