"""What the newest planned batch reads can be told from the logs of its sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import StateError
from penstock.observe.checkpoints.inventory import StoredCheckpoint
from penstock.storage.checkpoint import CheckpointFolder, DamagedFile, UnknownVersion


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
        for missing in _missing(folder, source, offset):
            yield checkpoint.refusal(
                "CHECKPOINT_FILE_MISSING",
                file=f"{folder.uri}/sources/{source}/{missing}",
            )


def _missing(folder: CheckpointFolder, source: str, offset: Any) -> Iterator[str]:
    match offset:
        case {"logOffset": int(last)}:
            names = set(folder.below(f"sources/{source}"))
            compacted = [int(name.partition(".")[0]) for name in names if name.endswith(".compact")]
            for step in range(max(compacted, default=-1) + 1, last + 1):
                if str(step) not in names:
                    yield str(step)
        case dict() if offset and all(_is_topic(partitions) for partitions in offset.values()):
            if f"sources/{source}/0" not in folder.files:
                yield "0"
        case _:
            return


def _is_topic(partitions: Any) -> bool:
    return isinstance(partitions, dict) and all(str(each).isdecimal() for each in partitions)
