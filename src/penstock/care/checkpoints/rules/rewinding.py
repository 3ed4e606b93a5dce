"""A checkpoint and its table go back to an earlier batch together, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import DamagedFile


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_REWIND_UNFINISHED; a note that cannot be read says nothing about the batch."""
    try:
        batch = checkpoint.folder.rewinding_to()
    except DamagedFile as error:
        file = f"{checkpoint.folder.uri}/penstock-rewind.json"
        yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file, reason=error)
        return
    if batch is not None:
        yield checkpoint.refusal("CHECKPOINT_REWIND_UNFINISHED", batch=batch)
