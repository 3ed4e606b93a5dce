"""What the pages show of a long log until all of it is read: what its totals and its newest events have."""

from __future__ import annotations

import time
from typing import Final

from penstock.access.sight import Sight, everything
from penstock.dashboard.log.projections import Projections
from penstock.events import Event, EventReader
from penstock.events.log.reader import newest_update_events
from penstock.events.log.segments import list_segments
from penstock.events.log.totals import read_totals
from penstock.storage import Storage

LONG_LOG: Final = 8 << 20
"""Of so many bytes a log is long, and what came since its totals is too much to be read before a page is shown."""

_FIRST, _LAST, _SECONDS = 5000, 1000, 10.0


class PartialSnapshot:
    """Made of the totals beside the log and followed from there on: only single events of long ago are missing.

    Without totals that fit, or with much behind them, it is made of the beginning of the newest update and the newest
    events, and good for ten seconds.

    Attributes:
        projections: as of the last look.
        sums: whether states and sums are those of all events.
    """

    def __init__(self, storage: Storage, sight: Sight = everything) -> None:
        self.projections = Projections(sight=sight)
        segments = list_segments(storage)
        totals = read_totals(storage, segments)
        left = LONG_LOG if totals is None else sum(each.size - offset for each, offset in totals.uncovered(segments))
        self.sums = left < LONG_LOG
        self._reader = EventReader(storage.uri, totals=totals)
        self._until = time.monotonic() + _SECONDS
        self._take(self._reader.poll() if self.sums else newest_update_events(storage.uri, first=_FIRST, last=_LAST))

    @property
    def skipped(self) -> int:
        """Lines that this version could not read, as far as they were read."""
        return self._reader.skipped

    def look(self) -> bool:
        """Takes what is new; returns whether it is still good, else another is to be made.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        if not self.sums:
            return time.monotonic() < self._until
        events = self._reader.poll()
        if self._reader.generation:  # the log was recreated, or compacted beyond what was read
            return False
        self._take(events)
        return True

    def _take(self, events: list[Event]) -> None:
        for event in events:
            self.projections.apply(event)


def is_long(storage: Storage) -> bool:
    """Whether it takes long to read all of the log."""
    return sum(segment.size for _, segment in list_segments(storage)) >= LONG_LOG
