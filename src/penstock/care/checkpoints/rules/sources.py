"""What the newest planned batch reads is in the logs of its sources."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import DamagedFile, UnknownVersion, missing_source_files


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
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
