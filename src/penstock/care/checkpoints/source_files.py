"""What became of each file of the flows' sources, from the checkpoints: `cloud_files_state`."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.errors import ConfigError
from penstock.graph.identifier import Identifier
from penstock.storage import Storage, StoredFile
from penstock.storage.checkpoint.committed_files import BatchOfFiles, batches_of_files, committed_step, files_of_steps
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion
from penstock.storage.checkpoint.planned_files import PlannedFile, file_steps
from penstock.storage.checkpoint.source_offsets import newest_offsets

FILE_STATE_COLUMNS: Final = (
    "path STRING, size BIGINT, create_time TIMESTAMP, discovery_time TIMESTAMP, processed_time TIMESTAMP, "
    "commit_time TIMESTAMP, archive_time TIMESTAMP, archive_mode STRING, move_location STRING, source_id STRING, "
    "flow_name STRING, ingestion_state STRING"
)
"""The columns of a file, as DDL; they are those of Databricks."""

SOURCE_FILE_COLUMNS: Final = f"dataset STRING, {FILE_STATE_COLUMNS}"
"""The columns of `source_files`, as DDL."""

_CLEANED: Final = "_cleaned_files"

Row = tuple[object, ...]


def source_files(inventory: Inventory) -> Iterator[Row]:
    """Yields a row of `SOURCE_FILE_COLUMNS` for each file that a checkpoint in use knows, in the order of reading.

    A value is None when it is not recorded any more: Spark keeps the last hundred commits, and the size is that of the
    file itself, as long as it is there and the same. No record has the time when a file was archived.
    """
    for checkpoint in inventory.checkpoints:
        if checkpoint.in_use:
            for row in _rows_of(inventory, checkpoint):
                yield (str(checkpoint.dataset), *row)


def files_of_table(inventory: Inventory, name: str, default_schema: str) -> Iterator[Row]:
    """Yields the rows, without the dataset, of the flows into a table.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
    """
    table = Identifier.parse(name, default_schema=default_schema)
    found = [each for each in inventory.checkpoints if each.in_use and each.dataset == table]
    if not found:
        raise inventory.not_found(str(table))
    return (row for checkpoint in found for row in _rows_of(inventory, checkpoint))


def files_of_checkpoint(inventory: Inventory, uri: str) -> Iterator[Row]:
    """Yields the rows, without the dataset, of the checkpoint in a folder, be it of this storage or of any query.

    Raises:
        ConfigError: CHECKPOINT_NOT_FOUND.
    """
    wanted = Storage(uri).uri
    for checkpoint in inventory.checkpoints:
        if checkpoint.folder.uri == wanted:
            return _rows_of(inventory, checkpoint)
    folder = CheckpointFolder.open_without_state(wanted)
    if folder.known_query_id() is None:
        hint = "The folder is not that of a checkpoint."
        raise ConfigError("CHECKPOINT_NOT_FOUND", name=uri, storage=inventory.storage.uri, hint=hint)
    return _rows(folder, None, None)


def _rows_of(inventory: Inventory, checkpoint: StoredCheckpoint) -> Iterator[Row]:
    notes = partial(inventory.layout.schemas, checkpoint.dataset, checkpoint.flow)
    return _rows(checkpoint.folder, checkpoint.flow, notes)


def _rows(folder: CheckpointFolder, flow: str | None, notes: Callable[[str], str] | None) -> Iterator[Row]:
    for source in file_steps(newest_offsets(folder.uri)):
        yield from _Source.of(folder, flow, source, None if notes is None else notes(source)).rows()


@dataclass(frozen=True, slots=True)
class _Source:
    folder: CheckpointFolder
    flow: str | None
    name: str
    found_at: dict[int, float | None]
    ingested: int
    batches: list[BatchOfFiles]
    keeps_all: bool
    cleaned: dict[str, Any]
    folders: dict[str, dict[str, StoredFile]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: CheckpointFolder, flow: str | None, source: str, notes: str | None) -> _Source:
        """`notes` is the folder in which Auto Loader notes what it has cleaned."""
        uri = folder.uri
        steps = {
            int(file.name.removesuffix(".compact")): file.modified
            for file in Storage(uri).list(f"sources/{source}")
            if file.name.removesuffix(".compact").isdecimal()
        }
        last = committed_step(uri, source)
        cleaned: dict[str, Any] = {}
        if notes is not None and Storage(notes).exists(_CLEANED):
            cleaned = json.loads(Storage(notes).read_text(_CLEANED))
        if cleaned.get("query") != folder.known_query_id():
            cleaned = {}
        batches, keeps_all = batches_of_files(uri, source), folder.numbers("commits")[:1] == (0,)
        return cls(folder, flow, source, steps, -1 if last is None else last, batches, keeps_all, cleaned)

    def rows(self) -> Iterator[Row]:
        try:
            for step, files in files_of_steps(self.folder.uri, self.name, 0, max(self.found_at, default=-1)):
                for file in files:
                    yield self._row(step, file)
        except (DamagedFile, UnknownVersion, FileNotFoundError):
            return  # `penstock checkpoint verify` says what is wrong

    def _row(self, step: int, file: PlannedFile) -> Row:
        gone = step <= self.cleaned.get("cleaned", -1)
        state = "ARCHIVED" if gone else "INGESTED" if step <= self.ingested else "DISCOVERED"
        mode = self.cleaned.get("archive_mode") if gone else None
        place = None
        if mode == "MOVE":
            place = f"{self.cleaned['move_location']}/{file.path.removeprefix(self.cleaned['base']).lstrip('/')}"
        batch = self._batch_of(step)
        return (
            file.path,
            self._size(file),
            _time(file.listed_ms / 1000),
            _time(self.found_at.get(step)),
            _time(None if batch is None else batch.planned),
            _time(None if batch is None else batch.committed),
            None,
            mode,
            place,
            self.name,
            self.flow,
            state,
        )

    def _size(self, file: PlannedFile) -> int | None:
        above, _, name = file.path.rpartition("/")
        if above not in self.folders:
            self.folders[above] = {each.name: each for each in Storage(above).list()}
        present = self.folders[above].get(name)
        return present.size if present is not None and file.is_as_listed(present.modified) else None

    def _batch_of(self, step: int) -> BatchOfFiles | None:
        """The first batch that has read the step; None when that may be one of those deleted."""
        position = bisect_left(self.batches, step, key=lambda batch: batch.step)
        return self.batches[position] if position < len(self.batches) and (position or self.keeps_all) else None


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
