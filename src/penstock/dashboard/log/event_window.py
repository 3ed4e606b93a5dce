"""The newest events in memory, for the events page; the whole log stays on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from heapq import merge
from itertools import islice

from penstock.events.types import Event, Level

_CAPACITY, _METRICS = 5000, 2000


class Shown(Enum):
    """Which events a reader requested: the value in the page's address, what the filter calls it, which levels."""

    NOTABLE = "", "All but batch metrics", {Level.INFO, Level.WARN, Level.ERROR}
    WARNINGS = "warnings", "Warnings and errors", {Level.WARN, Level.ERROR}
    ERRORS = "errors", "Errors", {Level.ERROR}
    BATCHES = "batches", "Batch metrics", {Level.METRICS}
    ALL = "all", "Everything", set(Level)

    def __init__(self, address: str, words: str, levels: set[Level]) -> None:
        self.address = address
        self.words = words
        self.levels = levels

    @classmethod
    def of(cls, address: str) -> Shown:
        """Returns the filter with this address; NOTABLE for one that is none."""
        return next((each for each in cls if each.address == address), cls.NOTABLE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader requested; names compare without regard to case, `text` with the event's message and condition."""

    shown: Shown = Shown.NOTABLE
    dataset: str | None = None
    event_type: str | None = None
    update_id: str | None = None
    text: str = ""

    def admits(self, event: Event) -> bool:
        """Whether the reader wants `event`."""
        origin = event.origin
        return (
            event.level in self.shown.levels
            and (self.dataset is None or (origin.dataset_name or "").casefold() == self.dataset.casefold())
            and (self.event_type is None or event.event_type.value == self.event_type)
            and (self.update_id is None or origin.update_id == self.update_id)
            and (not self.text or self.text.casefold() in _searched(event))
        )


class EventWindow:
    """Keeps 5,000 events apart from 2,000 batch metrics, so that busy batches never push an error out.

    Details are not stored: they are most of an event, and no list shows them.
    """

    def __init__(self) -> None:
        self._notable: deque[Event] = deque(maxlen=_CAPACITY)
        self._metrics: deque[Event] = deque(maxlen=_METRICS)

    def add(self, event: Event) -> None:
        """Takes the next event of the log."""
        (self._metrics if event.level is Level.METRICS else self._notable).append(_without_details(event))

    def newest(self, count: int, wanted: Wanted = Wanted()) -> tuple[list[Event], bool]:
        """Returns up to `count` events, newest first, and whether there are more of them."""
        found = list(islice(filter(wanted.admits, self._newest_first()), count + 1))
        return found[:count], len(found) > count or len(self._notable) == _CAPACITY

    def __len__(self) -> int:
        return len(self._notable) + len(self._metrics)

    def _newest_first(self) -> Iterator[Event]:
        age: Callable[[Event], int] = lambda event: -event.sequence  # noqa: E731 - a key, typed
        return merge(reversed(self._notable), reversed(self._metrics), key=age)


def _without_details(event: Event) -> Event:
    return Event(  # by hand: dataclasses.replace takes ten times as long, for each event of a long log
        event.id,
        event.sequence,
        event.timestamp,
        event.origin,
        event.level,
        event.event_type,
        event.message,
        error=event.error,
        maturity_level=event.maturity_level,
    )


def _searched(event: Event) -> str:
    condition = (event.error or {}).get("condition") or ""
    return f"{event.message} {condition} {event.origin.dataset_name or ''}".casefold()
