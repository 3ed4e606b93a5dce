"""Each snapshot of a state is whole, or Spark does without it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import damaged_snapshots


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_DAMAGED and CHECKPOINT_FILE_MISSING, each file once."""
    folder = checkpoint.folder
    following = 0 if folder.committed is None else folder.committed + 1
    for damage in dict.fromkeys(damaged_snapshots(folder, version=following)):
        file = f"{folder.uri}/{damage.file}"
        if damage.reason is None:
            yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=file)
        else:
            yield checkpoint.refusal("CHECKPOINT_FILE_DAMAGED", file=file, reason=damage.reason)
