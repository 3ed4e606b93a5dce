"""What a sound checkpoint looks like, a function a rule. A rule yields what is wrong; it repairs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint, flow_refusal
from penstock.errors import StateError
from penstock.events.flows.records import FlowRecord
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion
from penstock.storage.checkpoint.partitions import repartitions_state
from penstock.storage.checkpoint.snapshots import damaged_snapshots, is_snapshot_file
from penstock.storage.checkpoint.source_offsets import missing_source_files
from penstock.storage.checkpoint.state import missing_state_files, operators
from penstock.storage.checkpoint.whole_files import damage_of


# A checkpoint and its table go back to an earlier batch together, or not at all.
def finished_rewind(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_REWIND_UNFINISHED; a note that cannot be read says nothing about the batch."""
    try:
        batch = checkpoint.folder.rewinding_to()
    except DamagedFile as error:
        file = f"{checkpoint.folder.uri}/penstock-rewind.json"
        yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file, reason=error)
        return
    if batch is not None:
        yield checkpoint.refusal("CHECKPOINT_REWIND_UNFINISHED", batch=batch)


# Each file but a snapshot of state holds what Spark writes there, whole.
def whole_files(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_DAMAGED and CHECKPOINT_VERSION_UNKNOWN."""
    for name, file in checkpoint.folder.files.items():
        if is_snapshot_file(name):
            continue
        try:
            reason = damage_of(checkpoint.folder, name)
        except UnknownVersion as error:
            yield checkpoint.refusal("CHECKPOINT_VERSION_UNKNOWN", file=file.uri, version=error)
            continue
        if reason is not None:
            yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file.uri, reason=reason)


# Each snapshot of a state is whole, or Spark does without it.
def whole_snapshots(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_DAMAGED and CHECKPOINT_FILE_MISSING, each file once."""
    folder = checkpoint.folder
    following = 0 if folder.committed is None else folder.committed + 1
    for damage in dict.fromkeys(damaged_snapshots(folder, version=following)):
        file = f"{folder.uri}/{damage.file}"
        if damage.reason is None:
            yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=file)
        else:
            yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file, reason=damage.reason)


# The logs of planned and of committed batches have no holes, and belong to each other.
def complete_batches(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_MISSING, CHECKPOINT_BATCH_MISSING and CHECKPOINT_COMMIT_WITHOUT_OFFSETS.

    The newest batch may be planned and not committed: the next run finishes it.
    """
    folder = checkpoint.folder
    planned, committed = folder.numbers("offsets"), folder.numbers("commits")
    if folder.is_begun and "metadata" not in folder.files:
        yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/metadata")
    if holes := _holes(planned):
        yield checkpoint.refusal("CHECKPOINT_BATCH_MISSING", log="offsets", batches=_listed(holes))
    # Spark deletes old offsets before it deletes their commits, so commits may begin earlier.
    orphans = [batch for batch in committed if not planned or batch > planned[-1]]
    if orphans:
        yield checkpoint.refusal("CHECKPOINT_COMMIT_WITHOUT_OFFSETS", batches=_listed(orphans))
    if not planned:
        return
    done = set(committed)
    begin = committed[0] if committed and planned[0] > 0 else planned[0]
    if missing := [batch for batch in range(begin, planned[-1]) if batch not in done]:
        yield checkpoint.refusal("CHECKPOINT_BATCH_MISSING", log="commits", batches=_listed(missing))
    if planned[-1] not in done and _repartitions_state(folder, planned):
        yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/commits/{planned[-1]}")


def _repartitions_state(folder: CheckpointFolder, planned: Sequence[int]) -> bool:
    with suppress(DamagedFile, UnknownVersion, FileNotFoundError):  # the rule about files says so
        batches = [folder.planned_batch(number) for number in planned[-2:]]
        return len(batches) == 2 and repartitions_state(batches[1], batches[0])
    return False


def _holes(numbers: tuple[int, ...]) -> list[int]:
    if not numbers:
        return []
    present = set(numbers)
    return [number for number in range(numbers[0], numbers[-1]) if number not in present]


def _listed(batches: Sequence[int]) -> str:
    return ", ".join(map(str, batches[:10])) + (f" and {len(batches) - 10} more" if len(batches) > 10 else "")


# What the newest planned batch reads is in the logs of its sources.
def complete_sources(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_MISSING: a step of a file source, or where a topic was begun."""
    folder = checkpoint.folder
    if folder.planned is None:
        return
    try:
        offsets = folder.planned_batch(folder.planned).offsets
    except (DamagedFile, UnknownVersion, FileNotFoundError):
        return  # the rule about files says so
    for source, offset in offsets.items():
        for missing in missing_source_files(folder, source, offset):
            yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/{missing}")


_SCHEMAS = ("_metadata/schema", "_stateSchema/")


# The state that the next start loads is there.
def complete_state(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_MISSING: an operator's description or schema, or a version of its state."""
    folder = checkpoint.folder
    if folder.committed is None:
        return
    for missing in sorted(set(_missing_of_state(checkpoint, version=folder.committed + 1))):
        yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/{missing}")


def _missing_of_state(checkpoint: StoredCheckpoint, *, version: int) -> Iterator[str]:
    folder = checkpoint.folder
    for number, operator in operators(folder):
        names = list(folder.below(f"state/{number}"))
        if not any(name.endswith(_SCHEMAS[0]) or name.startswith(_SCHEMAS[1]) for name in names):
            yield f"state/{number}/0/_metadata/schema"
        if operator is None:
            if not any(name.startswith("_metadata/") for name in names):
                yield f"state/{number}/_metadata/metadata"
            continue
        yield from missing_state_files(folder, operator, version)


# The table that a flow fills, and the flow's checkpoint, know the same batches.
def target_agrees(inventory: Inventory, checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_BEHIND_TARGET, CHECKPOINT_AHEAD_OF_TARGET, TABLE_LOG_DAMAGED and TABLE_NOT_READABLE.

    A batch is noted in the table in one commit with its rows, and in the checkpoint after that. So the
    table is up to one batch ahead, the one in flight; a batch without rows may be missing in it.
    """
    folder = checkpoint.folder
    try:
        query_id, inherited = folder.query_id(), folder.inherited_batch()
        target = inventory.target(checkpoint.dataset)
        damage = () if target is None else target.damage()
    except (DamagedFile, FileNotFoundError):
        return  # the rules about files and batches say so
    except StateError as error:
        yield error
        return
    if target is None:
        return
    for reason in damage:
        yield checkpoint.refusal("TABLE_LOG_DAMAGED", reason=reason)
    stored = target.newest_batch(query_id)
    if stored is None:
        stored = inherited  # its rows came under the id that the checkpoint had before it was restored
    if stored is not None and stored > (-1 if folder.planned is None else folder.planned):
        planned = "none" if folder.planned is None else folder.planned
        yield checkpoint.refusal("CHECKPOINT_BEHIND_TARGET", stored=stored, planned=planned)
    elif folder.committed is not None and (stored is None or stored < folder.committed):
        missing = range(0 if stored is None else stored + 1, folder.committed + 1)
        if not inventory.record_of(checkpoint).wrote_nothing(missing):
            shown = "none" if stored is None else stored
            yield checkpoint.refusal("CHECKPOINT_AHEAD_OF_TARGET", stored=shown, committed=folder.committed)


# A query's id is in one checkpoint only: a copy would take the other one's batches for its own.
def own_query_id(checkpoint: StoredCheckpoint, query_ids: Mapping[str, str | None]) -> Iterator[StateError]:
    """Yields CHECKPOINT_SHARED for each other checkpoint with the same id; `query_ids` has those of all by folder."""
    own = checkpoint.folder.uri
    query_id = query_ids[own]
    for other, its_id in query_ids.items():
        if query_id is not None and other != own and its_id == query_id:
            yield checkpoint.refusal("CHECKPOINT_SHARED", path=own, other=other, query_id=query_id)


# A flow that has filled its target has a checkpoint: without one it would read everything again.
def present_checkpoint(inventory: Inventory, record: FlowRecord) -> Iterator[StateError]:
    """Yields CHECKPOINT_LOST; that the flow ran is known from the event log."""
    if not (record.declared and record.query and record.ran):
        return
    try:
        target = inventory.target(record.dataset)
    except StateError:
        return  # the rule about targets says so where there is a checkpoint
    if target is None and record.dataset not in inventory.records.sinks:
        return  # the table is gone as well: the next run creates both
    if target is not None and not target.holds_rows:
        return
    generations = [
        each
        for each in inventory.checkpoints
        if each.dataset == record.dataset and each.flow.casefold() == record.flow.casefold() and each.folder.is_begun
    ]
    if not any(each.in_use for each in generations):
        place = inventory.layout.checkpoints(record.dataset, record.flow)
        lost = f"{place}/{target.generation}" if target is not None else place
        yield flow_refusal(record, "CHECKPOINT_LOST", path=lost)
