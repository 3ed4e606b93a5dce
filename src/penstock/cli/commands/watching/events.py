"""`penstock events`: the event log, oldest first."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import clean, note, say, stdout

if TYPE_CHECKING:
    from penstock.access.sight import Sight
    from penstock.events.types import Event

POLL_SECONDS = 0.25
CHUNK = 10_000
_ROOM_FOR_WORDS = 38


class LevelName(Enum):
    """The levels that `--level` takes, least important first."""

    METRICS = "metrics"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


_ORDER = [level.name for level in LevelName]


@project_command(scripts=True)
def events(
    *,
    config: Project,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new events until Ctrl-C.")] = False,
    level: Annotated[
        LevelName, typer.Option("--level", help="Only events at least this important.", case_sensitive=False)
    ] = LevelName.METRICS,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="Only events of this dataset.")
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-n", metavar="N", min=0, help="Only the newest N events; 0 means all.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Print what happened: updates, definitions, each batch with its numbers, errors.

    `--json` prints one event per line with the columns of the DLT event log.
    """
    from penstock.graph.identifier import Identifier

    wanted = str(Identifier.parse(dataset, default_schema=config.schema)) if dataset else None
    chosen = _Filter(level, wanted, event_sight(config))
    printed = False
    try:
        for event in _follow(config.storage, chosen, count) if follow else _newest(config.storage, chosen, count):
            _print(event, as_json=as_json)
            printed = True
    except KeyboardInterrupt:
        return
    if not printed:
        note("No event to show; 'penstock run' writes them.")


class _Filter:
    """Which events are printed, as the reader sees them."""

    def __init__(self, level: LevelName, dataset: str | None, sight: Sight) -> None:
        self._rank = _ORDER.index(level.name)
        self._dataset = dataset.casefold() if dataset else None
        self._sight = sight

    @property
    def takes_all(self) -> bool:
        """Whether nothing is left out."""
        from penstock.access.sight import everything

        return self._rank == 0 and self._dataset is None and self._sight is everything

    def of(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yields what is printed of `events`; the sight needs all of them, in their order."""
        return filter(self._takes, filter(None, map(self._sight, events)))

    def _takes(self, event: Event) -> bool:
        if _ORDER.index(event.level.name) < self._rank:
            return False
        return self._dataset is None or (event.origin.dataset_name or "").casefold() == self._dataset


def _newest(storage: str, chosen: _Filter, count: int) -> Iterable[Event]:
    from penstock.events.log.reader import read_events, tail_events

    if count and chosen.takes_all:
        return tail_events(storage, count)
    found = chosen.of(read_events(storage))
    return deque(found, maxlen=count) if count else found


def _follow(storage: str, chosen: _Filter, count: int) -> Iterator[Event]:
    """Yields the newest events, then those that arrive; the same reader does both, so that none falls between."""
    from penstock.events.log.reader import EventReader

    reader = EventReader(storage, sums=False)
    past: deque[Event] = deque(maxlen=count or None)
    while chunk := reader.poll(limit=CHUNK):
        past.extend(chosen.of(chunk))
    yield from past
    yield from chosen.of(reader.follow(interval=POLL_SECONDS))


def _print(event: Event, *, as_json: bool) -> None:
    if as_json:
        from penstock.events.codec import encode

        sys.stdout.write(encode(event))
        sys.stdout.flush()
        return
    say("\n".join(_lines(event, stdout().width if stdout().is_terminal else None)))


def _lines(event: Event, width: int | None) -> list[str]:
    """Returns the line of an event; on a terminal without room for all columns as few lines as hold what it says."""
    where = event.origin.dataset_name or ""
    moment = event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    beginning = f"{moment}  {event.level.value:<7}  "
    columns = f"{beginning}{event.event_type.value:<20}  {where:<28}  "
    if width is None or len(columns) + _ROOM_FOR_WORDS <= width:
        return [clean(columns + event.message)]
    from textwrap import wrap

    words = event.message
    if where not in words:
        words = f"{where}: " + words.removeprefix(where.rpartition(".")[2] + ": ")
    return wrap(clean(words), width, initial_indent=beginning, subsequent_indent=" " * len(beginning))
