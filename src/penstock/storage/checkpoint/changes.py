"""Takes a checkpoint away, or puts another one in its place. What was there is kept beside it, never deleted."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.storage.checkpoint.backup import COMPARED_WITH, Backup, CopiedCheckpoint, copy_from_backup
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.identity import begin_new_query
from penstock.storage.checkpoint.staging import StagedCheckpoint, retire_checkpoint
from penstock.storage.filesystem import Storage
from penstock.storage.layout import QualifiedName, StorageLayout


@dataclass(frozen=True, slots=True)
class Restoration:
    """One checkpoint of a backup that shall take its place again.

    With `new_query` it gets a query id of its own, so that its table takes no batch for one that it holds.
    """

    copied: CopiedCheckpoint
    new_query: bool


def restore(storage: Storage, backup: Backup, chosen: tuple[Restoration, ...]) -> tuple[str | None, ...]:
    """Puts checkpoints of a backup in their places; returns where each one that was there is kept, None for none.

    All are copied and compared with the manifest before the first one takes its place. When the process dies, each
    flow has its old checkpoint, or the restored one; the caller holds the storage's lock.

    Raises:
        StateError: CHECKPOINT_BACKUP_DAMAGED; nothing has changed.
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    layout = StorageLayout(storage.uri)
    staged: list[tuple[CopiedCheckpoint, StagedCheckpoint]] = []
    for each in chosen:
        copied = each.copied
        new = StagedCheckpoint.begin(storage, layout.checkpoint(copied, copied.flow, copied.generation))
        copy_from_backup(backup, copied, storage, new.uri)
        if each.new_query:
            begin_new_query(storage, new.uri, copied.committed)
        staged.append((copied, new))
    previous: list[str | None] = []
    for copied, new in staged:
        if copied.compared_with is not None:
            storage.write_text_atomic(
                f"{layout.checkpoints(copied, copied.flow)}/{COMPARED_WITH}", copied.compared_with
            )
        previous.append(new.take_place())
    return tuple(previous)


def reset(storage: Storage, dataset: QualifiedName, flow: str, generation: int) -> tuple[str, ...]:
    """Takes away a flow's checkpoint, so that its next run begins with a new one; returns where it is kept.

    Older generations go as well, and first: a sink goes on with the newest one that it finds. The caller holds the
    storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    folder = StorageLayout(storage.uri).checkpoints(dataset, flow)
    numbers = (each for each in numbers_in(storage, folder) if each <= generation)
    return tuple(retire_checkpoint(storage, f"{folder}/{number}") for number in numbers)
