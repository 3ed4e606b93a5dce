"""Checkpoints that plain Structured Streaming has written, and what becomes of their files in a pipeline's storage.

Spark numbers the sources of a query (`v1` of its offset log); a pipeline names them (`v2`), so that a query can change.
Source of the formats: Spark's `OffsetSeqLog`, `CommitLog`, `FileStreamSourceLog`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from urllib.parse import unquote

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import (
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    parse_planned_batch,
    parse_source_log,
)
from penstock.storage.checkpoint.plan_file import plan_text
from penstock.storage.checkpoint.source_offsets import is_topic_offset, missing_source_files, steps_of
from penstock.storage.checkpoint.staging import copy_file
from penstock.storage.filesystem import Storage
from penstock.storage.local_disk import local_path

_EVOLUTION: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_PARTITIONS: Final = "spark.sql.shuffle.partitions"


class SourceKind(Enum):
    """The sources whose offsets say what they are, in words."""

    FILES = "files"
    KAFKA = "Kafka"
    DELTA = "a Delta table"


@dataclass(frozen=True, slots=True)
class ForeignSource:
    """One source of a plain query: its name in the offset log, and what tells it from others.

    `places` are the folders of the files that were read, the topics, or the id of the Delta table.
    """

    name: str
    kind: SourceKind
    places: frozenset[str]
    reached: str

    def __str__(self) -> str:
        return f"{self.kind.value} ({', '.join(sorted(self.places)) or 'none read yet'})"


class UnreadableCheckpoint(Exception):
    """A `file` of a checkpoint cannot be read; `reason` is the end of "it …"."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(file, reason)
        self.file = file
        self.reason = reason


def foreign_sources(folder: CheckpointFolder) -> tuple[ForeignSource, ...]:
    """Returns the sources of the newest batch, in the order of the offset log.

    Raises:
        UnreadableCheckpoint: a file is missing, damaged, of another version of Spark, or a source's offsets are of none
            of the kinds.
    """
    newest = f"offsets/{folder.planned}"
    offsets = _planned(folder, newest).offsets
    return tuple(_source(folder, newest, name, offset) for name, offset in offsets.items())


def _planned(folder: CheckpointFolder, file: str) -> PlannedBatch:
    try:
        return parse_planned_batch(folder.read(file))
    except FileNotFoundError:
        raise UnreadableCheckpoint(file, "is missing") from None
    except UnknownVersion as version:
        raise UnreadableCheckpoint(file, f"has version {version} of the offset log, of another Spark") from None
    except DamagedFile as damage:
        raise UnreadableCheckpoint(file, str(damage)) from None


def _source(folder: CheckpointFolder, file: str, name: str, offset: Any) -> ForeignSource:
    if offset is None:
        raise UnreadableCheckpoint(file, f"has no offset of source {name}: the query has read nothing from it yet")
    for missing in missing_source_files(folder, name, offset):
        raise UnreadableCheckpoint(missing, "is missing")
    match offset:
        case {"logOffset": int(last)}:
            return ForeignSource(name, SourceKind.FILES, _folders(folder, name), f"step {last} of its file log")
        case {"reservoirId": str(table), "reservoirVersion": int(version)}:
            return ForeignSource(name, SourceKind.DELTA, frozenset({table}), f"version {version}")
        case _ if is_topic_offset(offset):
            rows = sum(end for partitions in offset.values() for end in partitions.values())
            return ForeignSource(name, SourceKind.KAFKA, frozenset(offset), f"offsets that add up to {rows}")
    shown = json.dumps(offset)
    raise UnreadableCheckpoint(file, f"has offsets of a source that cannot be taken over: {shown[:80]}")


def _folders(folder: CheckpointFolder, source: str) -> frozenset[str]:
    found = set()
    for file, _ in steps_of(folder, source):
        try:
            entries = parse_source_log(folder.read(file))
        except (DamagedFile, UnknownVersion) as damage:
            raise UnreadableCheckpoint(file, str(damage)) from None
        found |= {
            decoded_path(str(entry["path"])).rpartition("/")[0]
            for entry in entries
            if isinstance(entry, dict) and "path" in entry
        }
    return frozenset(found)


def decoded_path(uri: str) -> str:
    """Returns the path of a local URI as Spark writes it into logs; other URIs, and paths, as they are."""
    return unquote(local_path(uri)) if uri.startswith("file:") else uri


def copy_with_names(folder: CheckpointFolder, names: Mapping[str, str], target: Storage, uri: str) -> None:
    """Copies a checkpoint to `uri`, its sources called by `names` instead of by their own.

    Raises:
        FileNotFoundError: somebody has deleted a file meanwhile.
        UnreadableCheckpoint: as `foreign_sources`.
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    for file in sorted(folder.files):
        part, _, rest = file.partition("/")
        match part:
            case "offsets":
                target.write_text_atomic(f"{uri}/{file}", _with_names(folder, file, names))
            case "sources" if (source := rest.partition("/")[0]) in names:
                to = f"{uri}/sources/{names[source]}/{rest.partition('/')[2]}"
                copy_file(folder.storage, file, target, to)
            case "commits" | "metadata" | "state":
                copy_file(folder.storage, file, target, f"{uri}/{file}")


def _with_names(folder: CheckpointFolder, file: str, names: Mapping[str, str]) -> str:
    planned = _planned(folder, file)
    settings = {key: value for key, value in planned.settings.items() if key != _PARTITIONS}
    return plan_text(
        {names[name]: offset for name, offset in planned.offsets.items() if offset is not None},
        {**settings, _EVOLUTION: "true"},
        watermark_ms=planned.watermark_ms,
        planned_ms=planned.planned_ms,
    )
