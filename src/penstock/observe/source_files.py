"""What became of each file of the flows' sources, as the checkpoints tell it: `cloud_files_state`."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from penstock.observe.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.storage import Storage
from penstock.storage.checkpoint import (
    DamagedFile,
    PlannedFile,
    UnknownVersion,
    commit_times,
    committed_step,
    file_steps,
    files_of_steps,
    newest_offsets,
)

SOURCE_FILE_COLUMNS: Final = (
    "dataset STRING, flow_name STRING, source_id STRING, path STRING, create_time TIMESTAMP, discovery_time TIMESTAMP, "
    "commit_time TIMESTAMP, archive_mode STRING, move_location STRING, ingestion_state STRING"
)
"""The columns of `source_files`, as DDL; names are those of Databricks."""

_CLEANED: Final = "_cleaned_files"


def source_files(inventory: Inventory) -> Iterator[tuple[object, ...]]:
    """Yields a row of `SOURCE_FILE_COLUMNS` for each file that a checkpoint in use knows, in the order of reading.

    A time is None when nothing tells it any more: Spark keeps the last hundred commits.
    """
    for checkpoint in inventory.checkpoints:
        if checkpoint.in_use:
            for source in file_steps(newest_offsets(checkpoint.folder.uri)):
                yield from _Source.of(inventory, checkpoint, source).rows()


@dataclass(frozen=True, slots=True)
class _Source:
    checkpoint: StoredCheckpoint
    name: str
    found_at: dict[int, float | None]
    committed: int
    commits: list[tuple[int, float]]
    cleaned: dict[str, Any]

    @classmethod
    def of(cls, inventory: Inventory, checkpoint: StoredCheckpoint, source: str) -> _Source:
        uri, layout = checkpoint.folder.uri, inventory.layout
        steps = {
            int(file.name.removesuffix(".compact")): file.modified
            for file in Storage(uri).list(f"sources/{source}")
            if file.name.removesuffix(".compact").isdecimal()
        }
        last = committed_step(uri, source)
        notes = Storage(layout.schemas(checkpoint.dataset, checkpoint.flow, source))
        cleaned = json.loads(notes.read_text(_CLEANED)) if notes.exists(_CLEANED) else {}
        if cleaned.get("query") != checkpoint.folder.known_query_id():
            cleaned = {}
        return cls(checkpoint, source, steps, -1 if last is None else last, commit_times(uri, source), cleaned)

    def rows(self) -> Iterator[tuple[object, ...]]:
        try:
            for step, files in files_of_steps(self.checkpoint.folder.uri, self.name, 0, max(self.found_at, default=-1)):
                for file in files:
                    yield self._row(step, file)
        except (DamagedFile, UnknownVersion, FileNotFoundError):
            return  # `penstock checkpoint verify` says what is wrong

    def _row(self, step: int, file: PlannedFile) -> tuple[object, ...]:
        gone = step <= self.cleaned.get("cleaned", -1)
        state = "ARCHIVED" if gone else "INGESTED" if step <= self.committed else "DISCOVERED"
        mode = self.cleaned.get("archive_mode") if gone else None
        place = None
        if mode == "MOVE":
            place = f"{self.cleaned['move_location']}/{file.path.removeprefix(self.cleaned['base']).lstrip('/')}"
        return (
            str(self.checkpoint.dataset),
            self.checkpoint.flow,
            self.name,
            file.path,
            _time(file.listed_ms / 1000),
            _time(self.found_at.get(step)),
            _time(self._commit_time(step)),
            mode,
            place,
            state,
        )

    def _commit_time(self, step: int) -> float | None:
        """When the first batch was committed that has read the step; None when that may be one of those deleted."""
        position = bisect_left(self.commits, (step, 0.0))
        known = 0 < position < len(self.commits) or (position == 0 and len(self.commits) > 0 and self._keeps_all)
        return self.commits[position][1] if known else None

    @property
    def _keeps_all(self) -> bool:
        return self.checkpoint.folder.numbers("commits")[:1] == (0,)


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
