"""Each file but a snapshot of state holds what Spark writes there, whole."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import UnknownVersion, damage_of, is_snapshot_file


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
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
