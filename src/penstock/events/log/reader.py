"""Reading the event log without a JVM: all of it, its tail, or what is new since the last look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import Final

from penstock.events.codec import NO_DATASET, line_end
from penstock.events.log.segments import (
    is_compacted,
    last_events,
    list_segments,
    read_lines,
    try_decode,
)
from penstock.events.log.totals import Segments, Totals
from penstock.events.types import Event, EventType, Level
from penstock.storage import Storage, StoredFile

_TRIES: Final = 5
RECENT: Final = 2000  # events, which are read in milliseconds
_UPDATES_BACK: Final = 100
_DEFINITIONS: Final = {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION, EventType.FLOW_DEFINITION}


def read_events(
    storage_uri: str,
    *,
    after_sequence: int = -1,
    types: Collection[EventType] = tuple(EventType),
    dataset: str | None = None,
    unreadable: Callable[[str, int], None] | None = None,
) -> Iterator[Event]:
    """Yields the events of a storage in the order they were written, oldest first.

    Only those of `types`, and with a `dataset` (`schema.name`, any case) those about it or about no dataset; most other
    lines are not even parsed. Torn, foreign and newer-version lines are left out. No log gives no events; nothing is
    created. When old segments are compacted meanwhile, it goes on with what is left of them behind the last event.
    `unreadable` gets the file of each line that is left out so, and the line's number in it, from 1; perhaps twice.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    storage, last = Storage(storage_uri), after_sequence
    for again in range(_TRIES):
        try:
            for event in _events_after(storage, last, types, dataset, unreadable):
                last = event.sequence
                yield event
        except FileNotFoundError:  # the segment was replaced by a compacted one
            if again == _TRIES - 1:
                raise
        else:
            return


def _events_after(
    storage: Storage,
    after_sequence: int,
    types: Collection[EventType],
    dataset: str | None,
    unreadable: Callable[[str, int], None] | None,
) -> Iterator[Event]:
    others = tuple(line_end(each) for each in EventType if each not in types)
    named = dataset.casefold().encode() if dataset is not None and dataset.isascii() else b""
    for segment in _segments_after(storage, after_sequence):
        for number, (line, _) in enumerate(read_lines(storage, segment.uri), 1):
            if line.endswith(others) or (named not in line.lower() and NO_DATASET not in line):
                continue
            event = try_decode(line)
            if event is None and unreadable is not None:
                unreadable(segment.uri, number)
            if event is None or event.sequence <= after_sequence or event.event_type not in types:
                continue
            about = event.origin.dataset_name
            if dataset is None or about is None or about.casefold() == dataset.casefold():
                yield event


def _segments_after(storage: Storage, sequence: int) -> Sequence[StoredFile]:
    """Returns the segments without those that are wholly before the event after `sequence`; opens the newest only."""
    segments = [segment for _, segment in list_segments(storage)]
    for number in reversed(range(len(segments)) if sequence >= 0 else ()):
        known = (try_decode(line) for line, _ in read_lines(storage, segments[number].uri))
        first = next((event for event in known if event is not None), None)
        if first is not None and first.sequence <= sequence:
            return segments[number:]
    return segments


def tail_events(storage_uri: str, count: int = RECENT) -> list[Event]:
    """Returns the last `count` events, oldest first, reading the end of the log only."""
    storage = Storage(storage_uri)
    with suppress(FileNotFoundError):
        return _tail(storage, count)
    return _tail(storage, count)  # a segment was replaced by a compacted one


def _tail(storage: Storage, count: int) -> list[Event]:
    newest_first: list[Event] = []
    for _, segment in reversed(list_segments(storage)):
        if len(newest_first) >= count:
            break
        newest_first.extend(reversed(last_events(storage, segment.uri, count - len(newest_first))))
    return newest_first[::-1]


def newest_update_events(storage_uri: str, *, first: int, last: int) -> list[Event]:
    """Returns what the newest update that defines its datasets began with, and the `last` events of the log.

    The beginning ends with the first numbers of a batch, or after `first` events; so do those of later updates, which
    ended before they defined any. They come in the order of the log, each once; what is in between is not read.
    """
    storage = Storage(storage_uri)
    firsts = {key[0]: segment for key, segment in reversed(list_segments(storage))}
    opening: list[Event] = []
    for segment in islice(firsts.values(), _UPDATES_BACK):
        begun = _opening(storage, segment, first)
        kinds = {event.event_type for event in begun}
        if EventType.CREATE_UPDATE in kinds:  # else it is a command, such as `penstock optimize`
            opening = [*begun, *opening]
            if kinds & _DEFINITIONS:
                break
    tail = tail_events(storage_uri, last)
    known = {event.sequence for event in opening}
    return sorted(
        [*opening, *(event for event in tail if event.sequence not in known)], key=lambda event: event.sequence
    )


def _opening(storage: Storage, segment: StoredFile, count: int) -> list[Event]:
    known = (event for line, _ in read_lines(storage, segment.uri) if (event := try_decode(line)) is not None)
    return list(islice(takewhile(lambda event: event.level is not Level.METRICS, known), count))


class EventReader:
    """Reads a log that another process may be writing, or compacting, each event once.

    It keeps a byte offset per segment, so a poll with nothing new costs one listing. Not
    thread-safe: one reader per consumer. When segments are compacted of which it has read a part
    only, who sums events up starts again with the totals; with `sums=False` it goes on behind the
    last event. With `totals` that fit the log, their events come first, all at once, in the place of
    those that they cover.

    Attributes:
        skipped: complete lines that this version could not read, so far.
        generation: grows by one when the log was deleted and recreated (`rm -rf .penstock`
            under a running dashboard), or compacted up to an event that was not read yet; the
            events that follow are then those of the log from its beginning, and projections of
            the old one must be thrown away.
        bytes_read, bytes_total: of the segments that the last poll saw; a torn last line is never read.
    """

    def __init__(self, storage_uri: str, *, sums: bool = True, totals: Totals | None = None) -> None:
        self.storage = Storage(storage_uri)
        self.skipped = 0
        self.generation = 0
        self.bytes_read = 0
        self.bytes_total = 0
        self._offsets: dict[str, int] = {}
        self._sums = sums
        self._newest = -1
        self._totals = totals
        self._behind: dict[str, int] = {}  # compacted segments by the sequence up to which their events were read

    def poll(self, *, limit: int | None = None) -> list[Event]:
        """Returns the events written since the last poll, oldest first, at most `limit` of them beside those of totals.

        A line without its newline waits for the next poll. A missing log gives an empty list. A
        poll that raises has taken nothing: the next one returns the same events.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        segments = list_segments(self.storage)
        events = self._begin_with_totals(segments)
        self._notice_new_log({segment.uri: segment.size for _, segment in segments})
        self._notice_compaction(segments)
        offsets, skipped, newest = dict(self._offsets), self.skipped, self._newest
        limit = None if limit is None else limit + len(events)
        for _, segment in segments:
            offset = offsets.setdefault(segment.uri, 0)
            behind = self._behind.get(segment.uri, -1)
            if segment.size <= offset:
                continue
            try:
                for line, after in read_lines(self.storage, segment.uri, offset):
                    if limit is not None and len(events) >= limit:
                        break
                    offsets[segment.uri] = after
                    event = try_decode(line)
                    if event is None:
                        skipped += 1
                    elif event.sequence > behind:
                        events.append(event)
                        newest = max(newest, event.sequence)
            except FileNotFoundError:
                break  # deleted or replaced between the listing and the reading; the next poll sees it
            if limit is not None and len(events) >= limit:
                break
        self._offsets, self.skipped, self._newest, self._totals = offsets, skipped, newest, None
        self.bytes_read = sum(offsets.get(segment.uri, 0) for _, segment in segments)
        self.bytes_total = sum(segment.size for _, segment in segments)
        return events

    def follow(self, *, stop: threading.Event | None = None, interval: float = 0.25) -> Iterator[Event]:
        """Yields events as they are written, beginning where the last poll ended.

        Looks every `interval` seconds, for ever or until `stop` is set; what was written before
        `stop` was set is still yielded.
        """
        stop = stop or threading.Event()
        while True:
            last = stop.is_set()
            yield from self.poll()
            if last:
                return
            stop.wait(interval)

    def _begin_with_totals(self, segments: Segments) -> list[Event]:
        totals = self._totals
        if totals is None or not totals.fits(segments):
            return []
        known = [try_decode(line) for line in totals.lines]
        events = [event for event in known if event is not None]
        self.skipped = len(known) - len(events)
        self._newest = max((event.sequence for event in events), default=-1)
        self._offsets = {each.uri: totals.covers[each.name] for _, each in segments if each.name in totals.covers}
        return events

    def _notice_new_log(self, sizes: dict[str, int]) -> None:
        known = [uri for uri in self._offsets if uri in sizes]
        shrunk = any(sizes[uri] < self._offsets[uri] for uri in known)
        replaced = any(is_compacted(uri) and uri not in self._offsets for uri in sizes)
        if self._offsets and (shrunk or not (known or replaced)):
            self._restart()

    def _notice_compaction(self, segments: Segments) -> None:
        """Skips a segment that replaces others which were all read."""
        for _, segment in segments[:1]:
            if not is_compacted(segment.name) or not self._offsets or segment.uri in self._offsets:
                return
            last = last_events(self.storage, segment.uri, 1)
            if not last or last[0].sequence <= self._newest:
                self._offsets[segment.uri] = segment.size
            elif self._sums:
                self._restart()
            else:
                self._behind[segment.uri] = self._newest

    def _restart(self) -> None:
        self._offsets.clear()
        self._behind.clear()
        self._newest = -1
        self.generation += 1
