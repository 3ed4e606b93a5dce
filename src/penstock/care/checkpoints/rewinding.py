"""Whether a flow can go back to an earlier batch, and what its table goes back to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from penstock.care.checkpoints import rules
from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.care.checkpoints.table_history import undo_batches
from penstock.care.checkpoints.target import Target
from penstock.errors import StateError
from penstock.events.flows.records import FlowRecords
from penstock.graph.companions.late_rows import late_rows_of, late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.storage.checkpoint.state import missing_state_files, operators

_POSSIBLE = {FlowType.APPEND.value, FlowType.COMPLETE.value}


@dataclass(frozen=True, slots=True)
class TableToRestore:
    """A table, and the version whose rows it gets again."""

    table: Target
    version: int


@dataclass(frozen=True, slots=True)
class Rewind:
    """A checkpoint that goes back to `batch`, with the tables that hold what came after; `again` is repeated."""

    checkpoint: StoredCheckpoint
    batch: int
    tables: tuple[TableToRestore, ...]
    again: range


def plan_rewind(inventory: Inventory, name: str, batch: int, *, default_schema: str, force: bool) -> Rewind:
    """Returns what it takes to do a flow's batches after `batch` again, each row once; see `Inventory.select`.

    `force` allows that streams which read the table stop, because rows are taken out of it.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
        StateError: CHECKPOINT_REWIND_NOT_POSSIBLE, CHECKPOINT_REWIND_BREAKS_READERS, CHECKPOINT_REWIND_UNFINISHED for
            another batch, TABLE_NOT_READABLE, and what `verify` finds.
    """
    found = inventory.in_use(name, default_schema=default_schema)
    if len(found) > 1:
        raise _impossible(found[0], batch, f"'{name}' names several flows: {', '.join(each.name for each in found)}")
    checkpoint = found[0]
    begun = checkpoint.folder.rewinding_to()
    if begun not in {None, batch}:
        raise checkpoint.refusal("CHECKPOINT_REWIND_UNFINISHED", batch=begun)
    for reason in _reasons(inventory, checkpoint, batch):
        raise _impossible(checkpoint, batch, reason)
    query_ids = {each.folder.uri: each.folder.known_query_id() for each in inventory.checkpoints}
    if begun is None:  # else the tables may be back already
        for finding in chain(
            rules.whole_files(checkpoint),
            rules.complete_batches(checkpoint),
            rules.complete_sources(checkpoint),
            rules.target_agrees(inventory, checkpoint),
            rules.own_query_id(checkpoint, query_ids),
        ):
            raise finding
    tables = tuple(_tables(inventory, checkpoint, batch))
    readers = _readers(inventory.records, checkpoint.dataset)
    if tables and readers and not force:
        raise checkpoint.refusal(
            "CHECKPOINT_REWIND_BREAKS_READERS",
            batch=batch,
            readers=", ".join(map(str, readers)),
            options=" ".join(f"--full-refresh {each}" for each in readers),
        )
    assert checkpoint.folder.planned is not None
    return Rewind(checkpoint, batch, tables, range(batch + 1, checkpoint.folder.planned + 1))


def _reasons(inventory: Inventory, checkpoint: StoredCheckpoint, batch: int) -> Iterator[str]:
    folder, kind = checkpoint.folder, inventory.record_of(checkpoint).flow_type
    if checkpoint.dataset in inventory.records.sinks:
        yield "what a sink has got cannot be taken back, so the rows would come twice"
    elif kind not in _POSSIBLE:
        yield f"it is a flow of kind '{kind}', which remembers more than its checkpoint and its table"
    if f"commits/{batch}" not in folder.files or f"offsets/{batch}" not in folder.files:
        known = [each for each in folder.numbers("commits") if f"offsets/{each}" in folder.files]
        yield f"its checkpoint holds the batches {known[0]} to {known[-1]}" if known else "it has finished no batch"
    elif batch == folder.planned:
        yield "that is its newest batch"
    elif batch > 0 and f"offsets/{batch - 1}" not in folder.files:
        yield f"Spark needs batch {batch - 1} as well, and it is gone from the checkpoint"
    if (inherited := folder.inherited_batch()) is not None and batch < inherited:
        yield f"up to batch {inherited} its rows came under another query id"
    for _, operator in operators(folder):
        if operator is not None and any(missing_state_files(folder, operator, batch + 1)):
            yield f"the state after batch {batch} is no longer in its checkpoint"
            return


def _tables(inventory: Inventory, checkpoint: StoredCheckpoint, batch: int) -> Iterator[TableToRestore]:
    query_id, target = checkpoint.folder.query_id(), inventory.target(checkpoint.dataset)
    begun = checkpoint.folder.rewinding_to() is not None
    if target is None:
        raise _impossible(checkpoint, batch, "its table is gone")
    quarantine_name = quarantine_of(checkpoint.dataset)
    quarantine = Target.open(str(quarantine_name), quarantine_path(target.uri))
    late = late_rows_of(checkpoint.dataset)
    late_rows = Target.open(str(late), late_rows_path(target.uri))
    written = ((target, query_id), (quarantine, f"{query_id}/{quarantine_name}"), (late_rows, f"{query_id}/{late}"))
    for table, app_id in written:
        if table is None:
            continue
        undone = undo_batches(table.uri, table.version, app_id, batch)
        if undone is None:
            raise _impossible(checkpoint, batch, f"the log of {table.name} no longer reaches back to that batch")
        # When a rewind was interrupted, its own RESTORE may be there.
        others = [each for each in undone.others if not (begun and each.operation == "RESTORE")]
        if others:
            changes = ", ".join(f"{each.operation} in version {each.version}" for each in others[:3])
            raise _impossible(
                checkpoint, batch, f"others have changed rows of {table.name} since, which would go: {changes}"
            )
        if undone.version is not None:
            if not table.has_files_of(undone.version):
                raise _impossible(
                    checkpoint, batch, f"VACUUM has deleted files of version {undone.version} of {table.name}"
                )
            yield TableToRestore(table, undone.version)


def _readers(records: FlowRecords, dataset: Identifier) -> list[Identifier]:
    """The targets of the streaming flows that read a table, also through views; the log does not say how they read."""
    names, readers = {str(dataset).casefold()}, list[Identifier]()
    while True:
        reading = [each for each in records if each.declared and names & {name.casefold() for name in each.inputs}]
        views = {str(each.dataset).casefold() for each in reading if each.flow_type == "view"} - names
        if not views:
            readers += [each.dataset for each in reading if each.query and each.dataset != dataset]
            return list(dict.fromkeys(readers))
        names |= views


def _impossible(checkpoint: StoredCheckpoint, batch: int, reason: str) -> StateError:
    return checkpoint.refusal("CHECKPOINT_REWIND_NOT_POSSIBLE", batch=batch, reason=reason)
