"""Whether a backed-up checkpoint fits the table that its flow has filled since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint, flow_label, flow_refusal
from penstock.errors import ConfigError
from penstock.events.flows.records import FlowRecord
from penstock.graph.flows.flow_names import flows_called
from penstock.graph.identifier import Identifier
from penstock.storage.checkpoint.backup import Backup, CopiedCheckpoint
from penstock.storage.checkpoint.changes import Restoration


def plan_restore(
    inventory: Inventory, backup: Backup, names: Iterable[str] | None, *, default_schema: str, force: bool
) -> tuple[Restoration, ...]:
    """Returns what to restore: of the whole backup, or of the flows in `names`.

    A flow whose table went on after the backup reads again what it has written. Under its old query id the
    table would take the new batches for those that it holds, and drop their rows; so it gets a new one, and
    rows are written twice, which `force` accepts.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND: a name is not in the backup.
        StateError: CHECKPOINT_BACKUP_OF_OTHER_GENERATION, CHECKPOINT_AHEAD_OF_TARGET, TABLE_NOT_READABLE; without
            `force` CHECKPOINT_RESTORE_REPEATS_BATCHES.
    """
    chosen = backup.checkpoints if not names else _named(backup, names, default_schema)
    # A flow that is named twice takes its place once.
    return tuple(_judged(inventory, copied, force=force) for copied in dict.fromkeys(chosen))


def _named(backup: Backup, names: Iterable[str], default_schema: str) -> Iterator[CopiedCheckpoint]:
    flows = {each: (dataset_of(each), each.flow) for each in backup.checkpoints}
    for name in names:
        called = flows_called(name, flows.values(), default_schema=default_schema)
        found = [each for each, flow in flows.items() if flow in called]
        if not found:
            there = ", ".join(flow_label(dataset_of(each), each.flow) for each in backup.checkpoints)
            raise ConfigError("CHECKPOINT_NOT_FOUND", name=name, storage=backup.uri, hint=f"There are: {there}.")
        yield from found


def _judged(inventory: Inventory, copied: CopiedCheckpoint, *, force: bool) -> Restoration:
    record = inventory.records.of(dataset_of(copied), copied.flow)
    current = _current(inventory, record, copied)
    stored = _check_rows_before(inventory, record, copied)
    last = _newest_written(inventory, record, copied, current, stored)
    repeats = last is not None and (copied.planned is None or last > copied.planned)
    if repeats and not force:
        first = 0 if copied.committed is None else copied.committed + 1
        rows = sum(rows for batch, rows in record.written.items() if batch >= first)
        counted = f", {rows:,} rows by the event log" if rows else ""
        raise flow_refusal(record, "CHECKPOINT_RESTORE_REPEATS_BATCHES", first=first, last=last, rows=counted)
    return Restoration(copied, new_query=repeats)


def _current(inventory: Inventory, record: FlowRecord, copied: CopiedCheckpoint) -> StoredCheckpoint | None:
    """The checkpoint whose place the backup takes, None when there is none."""
    target = inventory.target(record.dataset)
    own = [each for each in inventory.checkpoints if (each.dataset, each.flow) == (record.dataset, record.flow)]
    generation = target.generation if target is not None else max((each.generation for each in own), default=None)
    if generation is not None and generation != copied.generation:
        found = copied.generation
        raise flow_refusal(record, "CHECKPOINT_BACKUP_OF_OTHER_GENERATION", generation=found, current=generation)
    return next((each for each in own if each.generation == copied.generation), None)


def _check_rows_before(inventory: Inventory, record: FlowRecord, copied: CopiedCheckpoint) -> int | None:
    """Makes sure that the table holds what the checkpoint is done with; returns its newest batch of this query."""
    target = inventory.target(record.dataset)
    if target is None and record.dataset in inventory.records.sinks:
        return None
    stored = None if target is None else target.newest_batch(copied.query_id)
    held = copied.inherited if stored is None else stored
    if copied.committed is not None and (held is None or held < copied.committed):
        missing = range(0 if held is None else held + 1, copied.committed + 1)
        if target is None or not record.wrote_nothing(missing):
            shown = "none" if held is None else held
            raise flow_refusal(record, "CHECKPOINT_AHEAD_OF_TARGET", stored=shown, committed=copied.committed)
    return stored


def _newest_written(
    inventory: Inventory,
    record: FlowRecord,
    copied: CopiedCheckpoint,
    current: StoredCheckpoint | None,
    stored: int | None,
) -> int | None:
    """The newest batch that the flow has written in this generation, under whatever query id."""
    target = inventory.target(record.dataset)
    found = [stored]
    if target is None:  # a sink: what the flow itself remembers has to do
        found.append(max(record.written, default=None))
        found.append(None if current is None else current.folder.planned)
    elif current is not None:
        query_id = current.folder.known_query_id() or copied.query_id
        if query_id != copied.query_id and (later := target.newest_batch(query_id)) is not None:
            # Another query counts its batches from 0; whatever it has written came after the backup.
            found.append(max(later, 0 if copied.planned is None else copied.planned + 1))
    return max((batch for batch in found if batch is not None), default=None)


def dataset_of(copied: CopiedCheckpoint) -> Identifier:
    """Returns the full name of the dataset that the checkpoint's flow fills."""
    return Identifier(copied.schema, copied.name, copied.catalog)
