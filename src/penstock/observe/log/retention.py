"""Makes an event log shorter: of events beyond its retention, totals stay, and what no total can replace.

All segments up to one are replaced by a single compacted one. It is complete before it gets its name, and that name
alone takes those before it out of the log; they are deleted after that. So a process may die at any moment: the log is
the old one or the new one, and the next time deletes what is left over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.events.codec import line_end
from penstock.events.log.segments import (
    compacted_name,
    is_compacted,
    last_events,
    list_segments,
    read_lines,
    replaced_segments,
    segment_key,
)
from penstock.events.types import EventType
from penstock.observe.log.summary import summarize
from penstock.storage import Storage, StorageLayout, StoredFile

AT_ONCE: Final = 64 << 20
"""Of how many bytes a run compacts at most, which takes it some seconds; the next run goes on."""

_WORTH_IT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Compacted:
    """How many old events were `dropped` and `kept`, and the size of the log in bytes before and after."""

    dropped: int
    kept: int
    bytes_before: int
    bytes_after: int


def is_due(storage_uri: str, before: datetime) -> bool:
    """Whether there is so much from before `before` that a run compacts it; looks at the oldest segments only.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage = Storage(storage_uri)
    compacted, size = 0, 0
    for segment in _old_segments(storage, before):
        if is_compacted(segment.name):
            compacted = segment.size
        else:
            size += segment.size
        if size >= max(_WORTH_IT, compacted // 2):
            return True
    return False


def compact(storage_uri: str, before: datetime, *, most_bytes: int | None = None) -> Compacted:
    """Drops what is from before `before` and not needed; by the holder of the storage's lock.

    Whole segments only, and none of the newest update that defined its datasets, or of a later one. `most_bytes` is how
    much is read at most, of one segment more than was compacted before at least.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
        ExternalError: STORAGE_FULL, STORAGE_FAILED.
    """
    storage = Storage(storage_uri)
    _delete_left_over(storage)
    size = _size(storage)
    old = _chosen(storage, before, most_bytes)
    if all(is_compacted(segment.name) for segment in old):
        return Compacted(0, 0, size, size)
    summary = summarize(lambda: _lines(storage, old))
    events, name = StorageLayout(storage.uri).events, compacted_name(old[-1].name)
    storage.write_bytes_atomic(f"{events}/{name}", b"".join(line + b"\n" for line in summary.lines))
    storage.sync(events)
    _delete_left_over(storage)
    return Compacted(summary.read - summary.retained, summary.retained, size, _size(storage))


def _chosen(storage: Storage, before: datetime, most_bytes: int | None) -> list[StoredFile]:
    protected = _protected_update(storage)
    chosen: list[StoredFile] = []
    size = 0
    for segment in _old_segments(storage, before):
        key = segment_key(segment.name)
        size += segment.size
        enough = most_bytes is not None and size > most_bytes and any(not is_compacted(each.name) for each in chosen)
        if key is None or protected is None or key[0] >= protected or enough:
            break
        chosen.append(segment)
    return chosen


def _old_segments(storage: Storage, before: datetime) -> Iterator[StoredFile]:
    """Yields the oldest segments, up to the first with an event of the time that is kept."""
    for _, segment in list_segments(storage):
        newest = last_events(storage, segment.uri, 1)
        if newest and newest[0].timestamp >= before:
            return
        yield segment


def _protected_update(storage: Storage) -> int | None:
    """Returns the ordinal of the newest update that has planned its work, None before the first one.

    What it defined is what the pipeline is now. An update that failed before that leaves the one before as it was.
    """
    begins = {
        EventType.CREATE_UPDATE: line_end(EventType.CREATE_UPDATE),
        EventType.DATASET_DEFINITION: line_end(EventType.DATASET_DEFINITION),
        EventType.FLOW_DEFINITION: line_end(EventType.FLOW_DEFINITION),
        EventType.PLANNING_INFORMATION: line_end(EventType.PLANNING_INFORMATION),
    }
    found: dict[EventType, int] = {}
    firsts = {key[0]: segment for key, segment in reversed(list_segments(storage))}
    for ordinal, segment in firsts.items():
        for line, _ in read_lines(storage, segment.uri):
            for kind, end in begins.items():
                if kind not in found and line.endswith(end) and _counts(kind, line):
                    found[kind] = ordinal
        if len(found) == len(begins):
            break
    return min(found.values()) if EventType.CREATE_UPDATE in found else None


def _counts(kind: EventType, line: bytes) -> bool:
    return kind is not EventType.PLANNING_INFORMATION or b'\\"stages\\":[{' in line


def _lines(storage: Storage, segments: list[StoredFile]) -> Iterator[bytes]:
    for segment in segments:
        for line, _ in read_lines(storage, segment.uri):
            yield line


def _size(storage: Storage) -> int:
    return sum(segment.size for _, segment in list_segments(storage))


def _delete_left_over(storage: Storage) -> None:
    """Deletes what a compacted segment has replaced, and parts of one that were never finished."""
    for segment in replaced_segments(storage):
        storage.delete(segment.uri)
    for entry in storage.list(StorageLayout(storage.uri).events):
        if entry.name.endswith(".tmp"):
            storage.delete(entry.uri)
