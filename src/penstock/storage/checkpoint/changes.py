"""Takes a checkpoint away, or puts another one in its place. What was there is kept until nothing goes back to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.storage.checkpoint.backup import COMPARED_WITH, Backup, CopiedCheckpoint, copy_from_backup
from penstock.storage.checkpoint.folder import REWINDING, CheckpointFolder, numbers_in
from penstock.storage.checkpoint.plan_file import compact_json, plan_text
from penstock.storage.checkpoint.source_offsets import is_topic_offset
from penstock.storage.checkpoint.staging import StagedCheckpoint, begin_new_query, copy_files, retire_checkpoint
from penstock.storage.checkpoint.state import state_version
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


# Takes a checkpoint back to an earlier batch, so that the ones after it are planned and done again.
#
# What the next batches read follows from the newest offsets, so everything of later batches goes: their offsets and
# commits, and the state that they made, of which a stale snapshot would be loaded instead of what is computed again.
# The logs of file sources stay: their later steps count as found and not yet read.
def note_rewind(folder: CheckpointFolder, batch: int) -> None:
    """Writes into a checkpoint that it and its tables are about to go back to `batch`: no run may come in between.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    folder.storage.write_text_atomic(REWINDING, json.dumps({"batch": batch}))


def forget_rewind(folder: CheckpointFolder) -> None:
    """Takes the note away, when nothing has been changed."""
    folder.storage.delete(REWINDING)


def rewind(storage: Storage, folder: CheckpointFolder, batch: int) -> str:
    """Puts a copy that ends with `batch` in the place of a checkpoint; returns where that is kept.

    The copy has a query id of its own: under the old one its table would take the batches that come for those that
    it has held. When the process dies, the old one is there with its note, or the new one without; the caller holds
    the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    staged = StagedCheckpoint.begin(storage, folder.uri)
    kept = (name for name in folder.files if name != REWINDING and _is_before(name, batch))
    copy_files(folder, kept, storage, staged.uri)
    begin_new_query(storage, staged.uri, batch)
    staged.take_place()
    return staged.previous


def _is_before(name: str, batch: int) -> bool:
    """Whether a file is of `batch` or an earlier one, or of the checkpoint as a whole."""
    log, _, number = name.partition("/")
    if log in {"offsets", "commits"} and number.isdecimal():
        return int(number) <= batch
    version = state_version(name)
    return version is None or version <= batch + 1


def rebuild(
    storage: Storage,
    place: str,
    query_id: str,
    batches: Mapping[int, Mapping[str, Any]],
    settings: Mapping[str, str],
) -> None:
    """Writes a checkpoint whose newest finished batches are `batches`, by number, with the end offsets by source.

    Spark reads the newest two. It does not know its sources by name without the `settings` of the old checkpoint, and
    would begin each again. Where a topic was begun is set to the oldest offsets that are known: Spark looks at it only
    without any newer ones. What is at `place` is kept beside it. When the process dies, nothing is there,
    or everything; the caller holds the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    staged = StagedCheckpoint.begin(storage, place)
    files = staged.files
    files.write_text_atomic("metadata", compact_json({"id": query_id}))
    begun = batches[min(batches)]
    for source in (source for source, offset in begun.items() if is_topic_offset(offset)):
        files.write_text_atomic(f"sources/{source}/0", f"\0v1\n{compact_json(begun[source])}")
    for number, offsets in batches.items():
        files.write_text_atomic(f"offsets/{number}", plan_text(offsets, settings))
        files.write_text_atomic(f"commits/{number}", f"v1\n{compact_json({'nextBatchWatermarkMs': 0})}")
    staged.take_place()


def former_checkpoints(storage: Storage, checkpoints: str, *, generation: int, before: float) -> list[str]:
    """Returns what may go of the folder of a flow's `checkpoints`, none of which was written to since `before`.

    That is in seconds since 1970. The present `generation` and newer ones stay.
    """
    found = []
    for entry in storage.list(checkpoints):
        number, dot, _ = entry.name.partition(".")
        former = number.isdecimal() and entry.is_directory and (bool(dot) or int(number) < generation)
        if former and _newest_change(storage, entry.uri) < before:
            found.append(entry.uri)
    return found


def _newest_change(storage: Storage, checkpoint: str) -> float:
    """When a checkpoint or a change log was last written to; endless when the storage has no times."""
    times = [
        entry.modified
        for folder in ("", "/offsets", "/commits", "/_delta_log")
        for entry in storage.list(checkpoint + folder)
    ]
    return max((float("inf") if time is None else time for time in times), default=0.0)
