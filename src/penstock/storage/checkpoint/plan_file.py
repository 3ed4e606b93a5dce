"""The plan of a batch as a file of the offset log, to be written again with other metadata and the same offsets."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from penstock.storage.checkpoint.folder import replace_file
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


def compact_json(document: Mapping[str, Any]) -> str:
    """Returns JSON as Spark writes it into checkpoints."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
