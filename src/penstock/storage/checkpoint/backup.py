"""Copies of checkpoints, with a manifest by which they are checked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Final

from penstock.errors import ConfigError, StateError
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.staging import copy_file
from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout

COMPARED_WITH: Final = "compared_with.json"
"""Stands beside a flow's generations; see `penstock.spark.expectations.uniqueness`."""

_MANIFEST: Final = "manifest.json"
_CHECKPOINTS: Final = "checkpoints_v1"
"""The manifest's key for its list, by the form of the entries: another form has another key."""


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """One file: its path in the checkpoint, bytes, and SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        """A manifest comes from outside: its names must not lead out of the checkpoint's folder.

        Raises:
            ValueError: this one does.
        """
        path = PurePosixPath(self.name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in self.name:
            raise ValueError(self.name)


@dataclass(frozen=True, slots=True)
class CopiedCheckpoint:
    """One checkpoint of a backup; `planned` and `committed` are its newest batches.

    `inherited` is the newest one that was finished under another query id.
    `compared_with` is the flow's note on the version of its table that the newest batch is compared with.
    """

    schema: str
    name: str
    flow: str
    generation: int
    query_id: str
    planned: int | None
    committed: int | None
    inherited: int | None
    compared_with: str | None
    files: tuple[CopiedFile, ...]
    catalog: str | None = None


@dataclass(frozen=True, slots=True)
class Backup:
    """A folder with copies of checkpoints of one storage."""

    uri: str
    created: str
    storage: str
    checkpoints: tuple[CopiedCheckpoint, ...]


@dataclass(frozen=True, slots=True)
class CheckpointToCopy:
    """A checkpoint by its names and its files."""

    schema: str
    name: str
    flow: str
    generation: int
    folder: CheckpointFolder
    catalog: str | None = None


def write_backup(to: str, storage: Storage, checkpoints: Iterable[CheckpointToCopy]) -> Backup:
    """Copies checkpoints into the folder `to`, which must be empty or missing; the manifest comes last.

    The caller holds the storage's lock. A folder without a manifest is no backup: its making was interrupted.

    Raises:
        ConfigError: CHECKPOINT_BACKUP_PLACE_TAKEN, also for a folder inside the storage; STORAGE_NOT_WRITABLE.
        DamagedFile, FileNotFoundError: a checkpoint's query id cannot be read.
    """
    target = Storage(to)
    if target.list() or f"{target.uri}/".startswith(f"{storage.uri}/"):
        raise ConfigError("CHECKPOINT_BACKUP_PLACE_TAKEN", path=target.uri)
    layout, copied = StorageLayout(target.uri), []
    for each in checkpoints:
        note = f"{StorageLayout(storage.uri).checkpoints(each, each.flow)}/{COMPARED_WITH}"
        query_id = each.folder.query_id()
        place = layout.checkpoint(each, each.flow, each.generation)
        files = tuple(
            CopiedFile(name, *copy_file(each.folder.storage, name, target, f"{place}/{name}"))
            for name in each.folder.with_checksums
        )
        copied.append(
            CopiedCheckpoint(
                each.schema,
                each.name,
                each.flow,
                each.generation,
                query_id,
                each.folder.planned,
                each.folder.committed,
                each.folder.inherited_batch(),
                storage.read_text(note) if storage.exists(note) else None,
                files,
                each.catalog,
            )
        )
    backup = Backup(target.uri, datetime.now(UTC).isoformat(timespec="seconds"), storage.uri, tuple(copied))
    document = asdict(backup)
    document[_CHECKPOINTS] = document.pop("checkpoints")
    target.write_text_atomic(_MANIFEST, json.dumps(document, indent=1) + "\n")
    return backup


def read_backup(uri: str) -> Backup:
    """Reads the manifest of a backup.

    Raises:
        ConfigError: CHECKPOINT_BACKUP_NOT_FOUND.
        StateError: CHECKPOINT_BACKUP_DAMAGED.
    """
    from pydantic import TypeAdapter

    storage = Storage(uri)
    try:
        content = storage.read_bytes(_MANIFEST)
    except FileNotFoundError:
        raise ConfigError("CHECKPOINT_BACKUP_NOT_FOUND", path=storage.uri) from None
    try:
        document = json.loads(content)
        checkpoints = TypeAdapter(tuple[CopiedCheckpoint, ...]).validate_python(document[_CHECKPOINTS])
        return Backup(storage.uri, str(document["created"]), str(document["storage"]), checkpoints)
    except (ValueError, KeyError, TypeError) as error:  # a ValidationError is a ValueError
        file = storage.resolve(_MANIFEST)
        raise StateError("CHECKPOINT_BACKUP_DAMAGED", file=file, reason="is no manifest of a backup") from error


def copy_from_backup(backup: Backup, copied: CopiedCheckpoint, storage: Storage, to: str) -> None:
    """Copies one checkpoint of a backup to the folder `to` of a storage, and compares each file with the manifest.

    Raises:
        StateError: CHECKPOINT_BACKUP_DAMAGED; what was copied stays.
    """
    source = Storage(backup.uri)
    place = StorageLayout(backup.uri).checkpoint(copied, copied.flow, copied.generation)
    for file in copied.files:
        location = f"{place}/{file.name}"
        try:
            found = copy_file(source, location, storage, f"{to}/{file.name}")
        except FileNotFoundError as error:
            raise StateError("CHECKPOINT_BACKUP_DAMAGED", file=location, reason="is missing") from error
        if found != (file.size, file.sha256):
            reason = "does not fit its checksum in the manifest"
            raise StateError("CHECKPOINT_BACKUP_DAMAGED", file=location, reason=reason)
