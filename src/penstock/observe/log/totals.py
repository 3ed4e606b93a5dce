"""Reads a long log from its totals on, and brings them up to date for the next one who reads it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from penstock.errors import PenstockError
from penstock.events.log.reader import EventReader
from penstock.events.log.segments import list_segments, read_lines
from penstock.events.log.totals import Segments, Totals, read_totals, write_totals
from penstock.storage import Storage, StoredFile

WORTH_IT: Final = 4 << 20
"""Of how many bytes behind the totals new ones are made: fewer are read in a quarter of a second."""

AT_ONCE: Final = 32 << 20
"""After about so many bytes they are stored: a process that is stopped meanwhile has not worked in vain."""

_NONE: Final = Totals({}, ())


def read_from_totals(storage_uri: str) -> EventReader:
    """Returns a reader that sums up the log of a storage from its totals on.

    When much of the log is not in them, they are brought up to date first, and stored where this process may write.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    return EventReader(storage_uri, totals=bring_up_to_date(storage_uri))


def bring_up_to_date(storage_uri: str, *, stop: threading.Event | None = None) -> Totals | None:
    """Returns totals of all of a log but its end; None of a short one, and of one that is compacted meanwhile.

    When `stop` is set, it ends after the step that it is in, with totals of less.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage = Storage(storage_uri)
    segments = list_segments(storage)
    if sum(segment.size for _, segment in segments) < WORTH_IT:
        return None
    totals = read_totals(storage, segments) or _NONE
    with suppress(FileNotFoundError):
        while (left := _size(totals.uncovered(segments))) >= WORTH_IT:
            longer = _continued(storage, segments, totals)
            if _size(longer.uncovered(segments)) == left:
                break  # a line without an end
            totals = longer
            try:
                write_totals(storage, totals)
            except PenstockError:  # not allowed to, maybe: what is left is read as it is, not summed up each time
                break
            if stop is not None and stop.is_set():
                break
    return totals if totals.covers else None


def _continued(storage: Storage, segments: Segments, totals: Totals) -> Totals:
    """Adds some of what is not covered, whole segments as they were listed; of the last one its complete lines."""
    from penstock.observe.log.summary import summarize  # most readers do without, and need not import it

    chosen: list[tuple[StoredFile, int]] = []
    for part in totals.uncovered(segments):
        chosen.append(part)
        if _size(chosen) >= AT_ONCE:
            break
    summary = summarize(lambda: _lines(storage, totals, chosen))
    sizes = {**totals.covers, **{segment.name: segment.size for segment, _ in chosen}}
    newest, offset = chosen[-1]
    if newest is segments[-1][1]:  # which may end in half a line
        end = storage.read_bytes(newest.uri, start=offset, limit=newest.size - offset)
        sizes[newest.name] = offset + end.rfind(b"\n") + 1
    covers = {segment.name: sizes[segment.name] for _, segment in segments if segment.name in sizes}
    return Totals(covers, summary.lines)


def _lines(storage: Storage, totals: Totals, parts: list[tuple[StoredFile, int]]) -> Iterator[bytes]:
    yield from totals.lines
    for segment, offset in parts:
        for line, after in read_lines(storage, segment.uri, offset):
            if after > segment.size:  # written since the segment was listed
                break
            yield line


def _size(parts: list[tuple[StoredFile, int]]) -> int:
    return sum(segment.size - offset for segment, offset in parts)
