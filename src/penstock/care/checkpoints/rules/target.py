"""The table that a flow fills, and the flow's checkpoint, know the same batches."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import DamagedFile


def check(inventory: Inventory, checkpoint: StoredCheckpoint) -> Iterator[StateError]:
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
