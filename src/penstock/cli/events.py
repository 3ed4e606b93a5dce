"""`penstock events`: the event log, oldest first."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import note, say
from penstock.cli.options import AsJson, Directory, Environment, StorageUri
from penstock.cli.project import open_project

if TYPE_CHECKING:
    from penstock.events.types import Event

POLL_SECONDS = 0.5


class LevelName(Enum):
    """The levels that `--level` takes, least important first."""

    METRICS = "metrics"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


_ORDER = [level.name for level in LevelName]


def events(
    *,
    directory: Directory = Path(),
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new events until Ctrl-C.")] = False,
    level: Annotated[
        LevelName, typer.Option("--level", help="Only events at least this important.", case_sensitive=False)
    ] = LevelName.METRICS,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="Only events of this dataset.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=0, help="Only the newest N events; 0 means all.")] = 50,
    environment: Environment = None,
    storage: StorageUri = None,
    as_json: AsJson = False,
) -> None:
    """Print what happened: updates, definitions, each batch with its numbers, errors.

    `--json` prints one event per line with the columns of the DLT event log.
    """
    from penstock.events import read_events
    from penstock.graph.identifier import Identifier

    config = open_project(directory, environment=environment, storage=storage)
    wanted = str(Identifier.parse(dataset, default_schema=config.schema)) if dataset else None
    shown = _Filter(level, wanted)
    past = (event for event in read_events(config.storage) if shown.notes(event))
    newest = deque(past, maxlen=count) if count else past
    arriving = _arriving(config.storage, shown) if follow else iter(())
    try:
        for event in chain(newest, arriving):
            _print(event, as_json=as_json)
    except KeyboardInterrupt:
        return
    if shown.last_sequence < 0:
        note("The event log is empty; 'penstock run' writes it.")


class _Filter:
    """Which events are printed, and how far the log was read."""

    def __init__(self, level: LevelName, dataset: str | None) -> None:
        self._rank = _ORDER.index(level.name)
        self._dataset = dataset.casefold() if dataset else None
        self.last_sequence = -1

    def notes(self, event: Event) -> bool:
        """Remembers the event as read, and returns whether it is to be printed."""
        self.last_sequence = max(self.last_sequence, event.sequence)
        if _ORDER.index(event.level.name) < self._rank:
            return False
        return self._dataset is None or (event.origin.dataset_name or "").casefold() == self._dataset


def _arriving(storage: str, shown: _Filter) -> Iterator[Event]:
    from penstock.events import read_events

    while True:
        yield from (event for event in read_events(storage, after_sequence=shown.last_sequence) if shown.notes(event))
        time.sleep(POLL_SECONDS)


def _print(event: Event, *, as_json: bool) -> None:
    if as_json:
        from penstock.events import encode

        sys.stdout.write(encode(event).rstrip("\n") + "\n")
        sys.stdout.flush()
        return
    where = event.origin.dataset_name or ""
    moment = event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    say(
        f"{moment}  {event.level.value:<7}  {event.event_type.value:<20}  {where:<28}  {event.message}", multiline=False
    )
