"""A projection of a storage's log, as of now: of a long log made from its totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from penstock.events.types import Event, EventType
from penstock.observe.log.totals import read_from_totals
from penstock.storage import LockHolder, read_holder

_CHUNK: Final = 10_000


class Projection(Protocol):
    """What is made of a log, event by event."""

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        ...


P = TypeVar("P", bound=Projection)


class FollowedLog(Generic[P]):
    """A projection of a storage's log that is brought up to date at each look; of a new log it starts again.

    Of a long log it reads the totals and what came since, which is all that `StatusProjection`, `LoadedStatus`,
    `LineageProjection` and `Definitions` need.
    """

    def __init__(
        self, storage_uri: str, begin: Callable[[], P], sight: Callable[[Event], Event | None] = lambda event: event
    ) -> None:
        """`sight` returns what is to be taken of an event, None for nothing."""
        self._reader = read_from_totals(storage_uri)
        self._sight = sight
        self._begin = begin
        self._projection = begin()

    def look(self) -> P:
        """Returns the projection as of the newest event.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        generation = self._reader.generation
        while chunk := self._reader.poll(limit=_CHUNK):
            if self._reader.generation != generation:
                generation, self._projection = self._reader.generation, self._begin()
            for event in filter(None, map(self._sight, chunk)):
                self._projection.apply(event)
        return self._projection

    def holder(self) -> LockHolder | None:
        """Returns who holds the storage's lock, alive or not."""
        return read_holder(self._reader.storage)


class Definitions:
    """The definitions of datasets and sinks, each that differs from the one before it at least, oldest first."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        if event.event_type in {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION}:
            self.events.append(event)


def read_definitions(storage_uri: str) -> list[Event]:
    """Returns the `Definitions` of a storage's log: what `penstock.observe.stored.tables` asks for.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    return FollowedLog(storage_uri, Definitions).look().events
