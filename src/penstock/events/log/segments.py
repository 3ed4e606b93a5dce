"""The segment files of an event log: their names, and reading them by byte offset.

`<storage>/events/<update ordinal>-<n>.jsonl`: each writer starts a new ordinal, so a line torn by a
crash stays alone at the end of its own segment and never swallows the next update's events.

`<update ordinal>-<n>.compacted.jsonl` replaces all segments up to `<update ordinal>-<n>`, which are no
longer part of the log from the moment that it is there, whether they were deleted already or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.errors import StateError
from penstock.events.codec import decode
from penstock.events.types import Event
from penstock.storage import Storage, StorageLayout, StoredFile

_NAME = re.compile(r"(\d{6,})-(\d{4,})(\.compacted)?\.jsonl")
CHUNK_BYTES: Final = 1 << 20


def segment_name(ordinal: int, part: int) -> str:
    """Returns the file name of part `part` of update number `ordinal`, both counted from 1."""
    return f"{ordinal:06d}-{part:04d}.jsonl"


def compacted_name(last: str) -> str:
    """Returns the name of the segment that replaces all up to the one called `last`."""
    return last.removesuffix(".jsonl").removesuffix(".compacted") + ".compacted.jsonl"


def is_compacted(name: str) -> bool:
    """Whether a segment replaces those before it."""
    return name.endswith(".compacted.jsonl")


def segment_key(name: str) -> tuple[int, int] | None:
    """Returns (ordinal, part), which orders segments, or None for a file that is no segment."""
    match = _NAME.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def list_segments(storage: Storage) -> list[tuple[tuple[int, int], StoredFile]]:
    """Returns the segments with their keys, oldest first; empty when there is no log."""
    found = _stored(storage)
    newest = max((number for number, (_, entry) in enumerate(found) if is_compacted(entry.name)), default=0)
    return found[newest:]


def replaced_segments(storage: Storage) -> list[StoredFile]:
    """Returns the segments that are still stored, but no longer part of the log."""
    current = {segment.uri for _, segment in list_segments(storage)}
    return [entry for _, entry in _stored(storage) if entry.uri not in current]


def _stored(storage: Storage) -> list[tuple[tuple[int, int], StoredFile]]:
    found = []
    for entry in storage.list(StorageLayout(storage.uri).events):
        key = segment_key(entry.name)
        if key is not None and not entry.is_directory:
            found.append((key, entry))
    return sorted(found, key=lambda item: (item[0], is_compacted(item[1].name)))


def read_lines(storage: Storage, uri: str, offset: int = 0) -> Iterator[tuple[bytes, int]]:
    """Yields each complete line from byte `offset` on, with the offset after it.

    Bytes behind the last newline are left for a later call: their writer is still busy, or died.
    """
    size = CHUNK_BYTES
    while True:
        chunk = storage.read_bytes(uri, start=offset, limit=size)
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            if len(chunk) < size:
                return
            size *= 2  # one line longer than the chunk
            continue
        position = 0
        while position < end:
            newline = chunk.index(b"\n", position)
            yield chunk[position:newline], offset + newline + 1
            position = newline + 1
        if len(chunk) < size:
            return
        offset += end


def last_events(storage: Storage, uri: str, count: int) -> list[Event]:
    """Returns the last `count` readable events of a segment, oldest first, from its end only."""
    total = len_of(storage, uri)
    size = min(64 << 10, total)
    while True:
        chunk = storage.read_bytes(uri, start=total - size, limit=size)
        lines = chunk.split(b"\n")[:-1]
        if size < total:
            lines = lines[1:]  # the first one may have lost its beginning
        events = [event for line in lines if (event := try_decode(line)) is not None]
        if len(events) >= count or size == total:
            return events[-count:] if count else []
        size = min(size * 4, total)


def len_of(storage: Storage, uri: str) -> int:
    """Returns the size of a file in bytes, by asking it rather than a listing that may be old."""
    with storage.open(uri) as file:
        return file.seek(0, 2)


def try_decode(line: bytes) -> Event | None:
    """Returns the line's event, or None when this version cannot read the line."""
    try:
        return decode(line)
    except StateError:
        return None
