"""Takes a checkpoint away, or puts another one in its place. What was there is kept beside it, never deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.storage.checkpoint.backup import COMPARED_WITH, Backup, CopiedCheckpoint, copy_from_backup
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.identity import begin_new_query
from penstock.storage.exchange import exchange
from penstock.storage.filesystem import Storage
from penstock.storage.layout import QualifiedName, StorageLayout

_STAGED = ".restoring-"
_KEPT = ".before-"


@dataclass(frozen=True, slots=True)
class Restoration:
    """One checkpoint of a backup that shall take its place again.

    With `new_query` it gets a query id of its own, so that its table takes no batch for one that it holds.
    """

    copied: CopiedCheckpoint
    new_query: bool


def restore(storage: Storage, backup: Backup, chosen: tuple[Restoration, ...]) -> tuple[str | None, ...]:
    """Puts checkpoints of a backup in their places; returns where each one that stood there is kept, None for none.

    All are copied and compared with the manifest before the first one takes its place. When the process dies, each
    flow has its old checkpoint, or the restored one; the caller holds the storage's lock.

    Raises:
        StateError: CHECKPOINT_BACKUP_DAMAGED; nothing has changed.
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    layout, stamp = StorageLayout(storage.uri), _stamp()
    staged: list[tuple[CopiedCheckpoint, str]] = []
    for each in chosen:
        flow = layout.checkpoints(each.copied, each.copied.flow)
        for left_over in storage.list(flow):
            if _STAGED in left_over.name:
                storage.delete(left_over.uri)
        place = f"{flow}/{each.copied.generation}{_STAGED}{stamp}"
        copy_from_backup(backup, each.copied, storage, place)
        if each.new_query:
            begin_new_query(storage, place, each.copied.committed)
        staged.append((each.copied, place))
    kept: list[str | None] = []
    for copied, new in staged:
        flow = layout.checkpoints(copied, copied.flow)
        if copied.compared_with is not None:
            storage.write_text_atomic(f"{flow}/{COMPARED_WITH}", copied.compared_with)
        place, aside = f"{flow}/{copied.generation}", f"{flow}/{copied.generation}{_KEPT}{stamp}"
        kept.append(aside if storage.exists(place) else None)
        exchange(storage, place, aside=aside, staged=new)
    return tuple(kept)


def reset(storage: Storage, dataset: QualifiedName, flow: str, generation: int) -> tuple[str, ...]:
    """Takes away a flow's checkpoint, so that its next run begins with a new one; returns where it is kept.

    Older generations go as well, and first: a sink goes on with the newest one that it finds. The caller holds the
    storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    folder, stamp = StorageLayout(storage.uri).checkpoints(dataset, flow), _stamp()
    kept = []
    for number in (each for each in numbers_in(storage, folder) if each <= generation):
        kept.append(f"{folder}/{number}{_KEPT}{stamp}")
        exchange(storage, f"{folder}/{number}", aside=kept[-1])
    return tuple(kept)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
