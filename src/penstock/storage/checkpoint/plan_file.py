"""The plan of a batch as a file of the offset log: written, written again with other metadata, or without rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from penstock.storage.checkpoint.folder import numbers_in, replace_file
from penstock.storage.checkpoint.logs import (
    OFFSET_LOG_VERSION,
    VOID_OFFSET,
    DamagedFile,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
)
from penstock.storage.filesystem import Storage

_PLANNED: Final = "batchTimestampMs"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """`version` and `metadata` are the first two lines, `offsets` is the rest with the line break before it."""

    version: str
    metadata: str
    offsets: str

    @classmethod
    def read(cls, checkpoint: Storage, batch: int) -> Self:
        """Reads the plan of a batch.

        Raises:
            FileNotFoundError: the batch was not planned.
            ConfigError: STORAGE_NOT_READABLE.
        """
        version, _, rest = checkpoint.read_text(f"offsets/{batch}").partition("\n")
        metadata, newline, offsets = rest.partition("\n")
        return cls(version, metadata, newline + offsets)

    def write(self, checkpoint: Storage, batch: int, metadata: dict[str, Any]) -> None:
        """Writes the same offsets with other metadata as the plan of a batch, whole or not at all.

        Raises:
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        replace_file(checkpoint, f"offsets/{batch}", f"{self.version}\n{compact_json(metadata)}{self.offsets}")


def planned_now(metadata: dict[str, Any]) -> dict[str, Any]:
    """Returns the metadata with the present time; a clock that was set back does not make it older than it was."""
    return metadata | {_PLANNED: max(int(time.time() * 1000), int(metadata[_PLANNED]) + 1)}


def plan_text(
    offsets: Mapping[str, Any], settings: Mapping[str, str], *, watermark_ms: int = 0, planned_ms: int = 0
) -> str:
    """Returns the plan of a batch that reads each source, by its name, up to its offset; None is no offset yet."""
    metadata = {
        "batchWatermarkMs": watermark_ms,
        _PLANNED: planned_ms,
        "conf": dict(settings),
        "sourceMetadataInfo": {},
    }
    ends = {source: VOID_OFFSET if offset is None else compact_json(offset) for source, offset in offsets.items()}
    return "\n".join([OFFSET_LOG_VERSION, compact_json(metadata), *(f"{source}:{end}" for source, end in ends.items())])


def compact_json(document: Mapping[str, Any]) -> str:
    """Returns JSON as Spark writes it into checkpoints."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


# The batch without rows that is due when the last batch has moved the watermark: whether it is, and how it is planned.
#
# Spark runs it to close windows and to forget state that the watermark has passed. It finds out in the execution of the
# batch before, which a new process does not have, so after a restart it waits for rows. A batch that is planned in the
# offset log, however, is run by any start.
@dataclass(frozen=True, slots=True)
class MovedWatermark:
    """The last batch of a checkpoint, finished, with the watermark that it left to the next one, not planned yet."""

    batch: int
    watermark_ms: int


def moved_watermark(checkpoint: Storage) -> MovedWatermark | None:
    """Returns the last batch when it is finished and has moved the watermark; None when it has not.

    Lists two folders and reads two small files. None also when one of them is damaged, which the checks of a run name.
    """
    planned = numbers_in(checkpoint, "offsets")
    if not planned or planned[-1] not in numbers_in(checkpoint, "commits"):
        return None
    last = planned[-1]
    try:
        before = parse_planned_batch(checkpoint.read_bytes(f"offsets/{last}")).watermark_ms
        after = parse_commit(checkpoint.read_bytes(f"commits/{last}"))
    except (FileNotFoundError, DamagedFile, UnknownVersion):
        return None
    return MovedWatermark(last, after) if after > before else None


def plan_batch_without_rows(checkpoint: Storage) -> int | None:
    """Plans the batch after the last one, from where that ends to the same place, with the watermark that it left.

    Called while no query uses the checkpoint. It is written as Spark writes it: whole or not at all, and once it is
    there, the next start runs it. Returns its number; None, with nothing written, when `moved_watermark` gives None.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    moved = moved_watermark(checkpoint)
    if moved is None:
        return None
    plan = PlanFile.read(checkpoint, moved.batch)
    metadata = json.loads(plan.metadata) | {"batchWatermarkMs": moved.watermark_ms}
    plan.write(checkpoint, moved.batch + 1, planned_now(metadata))
    return moved.batch + 1
