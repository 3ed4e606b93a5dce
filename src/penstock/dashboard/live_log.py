"""The event log as the dashboard sees it: read incrementally, projected, and safe to ask from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.dashboard.event_window import EventWindow
from penstock.errors import PenstockError
from penstock.events import Event, EventReader
from penstock.observe.definitions import DefinitionProjection
from penstock.observe.lineage import Lineage, LineageProjection
from penstock.observe.series import SeriesProjection
from penstock.observe.status import PipelineStatus, StatusProjection
from penstock.storage import is_locked

_FRESH_SECONDS = 0.2


@dataclass(slots=True)
class Projections:
    """Everything that the pages show, as of the last event that was applied."""

    status: StatusProjection = field(default_factory=StatusProjection)
    lineage: LineageProjection = field(default_factory=LineageProjection)
    definitions: DefinitionProjection = field(default_factory=DefinitionProjection)
    series: SeriesProjection = field(default_factory=SeriesProjection)
    window: EventWindow = field(default_factory=EventWindow)
    damaged: int = 0

    def apply(self, event: Event) -> None:
        """Takes one event into every projection; one that a projection cannot read is counted, never raised."""
        self.window.add(event)
        for projection in (self.status, self.lineage, self.definitions, self.series):
            try:
                projection.apply(event)
            except Exception:  # noqa: BLE001 - whatever a foreign log holds, the page must stay up
                self.damaged += 1
                return


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one page is made of; `projections` may be asked under `LiveLog.lock` only.

    `problem` is `{condition, message, fix}` when the storage cannot be read at the moment; the
    rest is then as of the last time that it could.
    """

    version: str
    epoch: int
    status: PipelineStatus
    lineage: Lineage
    problem: Mapping[str, Any] | None
    skipped: int


class LiveLog:
    """Reads a growing event log on demand, at most five times a second however many pages ask.

    The log may be missing, empty, cut short, deleted and started anew, or hold lines of a newer
    version. A storage that cannot be read is a fact for the page, not an error.

    Raises:
        ConfigError: the storage's URI has a scheme that this installation cannot read.
    """

    def __init__(self, storage_uri: str) -> None:
        self.lock = threading.RLock()
        self.closed = False
        self._storage_uri = storage_uri
        self._reader: EventReader | None = EventReader(storage_uri)
        self.storage = self._reader.storage.uri
        self.projections = Projections()
        self._generation = 0
        self._epoch = 0
        self._changes = 0
        self._problem: Mapping[str, Any] | None = None
        self._writer_alive: bool | None = None
        self._looked = -1.0
        self._snapshot: Snapshot | None = None

    def snapshot(self) -> Snapshot:
        """Returns the state as of now; cheap when nothing changed."""
        with self.lock:
            if time.monotonic() - self._looked >= _FRESH_SECONDS:
                self._refresh()
                self._looked = time.monotonic()
            if self._snapshot is None or self._snapshot.version != self._version:
                self._snapshot = Snapshot(
                    version=self._version,
                    epoch=self._epoch,
                    status=self.projections.status.status(writer_alive=self._writer_alive),
                    lineage=self.projections.lineage.lineage(),
                    problem=self._problem,
                    skipped=self.projections.damaged + (self._reader.skipped if self._reader else 0),
                )
            return self._snapshot

    def close(self) -> None:
        """Lets the open pages' connections end; from any thread, more than once."""
        self.closed = True

    @property
    def _version(self) -> str:
        return f"{self._epoch}-{self._changes}"

    def _refresh(self) -> None:
        try:
            fresh = self._reader is None
            reader = self._reader or EventReader(self._storage_uri)
            alive = is_locked(reader.storage)  # asked first: a run that ends in between wrote its end before
            events = reader.poll()
        except PenstockError as error:
            self._fail({"condition": error.condition, "message": error.message, "fix": error.fix})
            return
        except OSError as error:
            message = f"The storage cannot be read: {error.strerror or error}."
            self._fail({"condition": None, "message": message, "fix": "Check the folder and its permissions."})
            return
        if fresh or reader.generation != self._generation:
            self.projections = Projections()
            self._epoch += 1
            self._generation = reader.generation
        self._reader = reader
        for event in events:
            self.projections.apply(event)
        if events or self._problem is not None or alive is not self._writer_alive:
            self._changes += 1
        self._problem, self._writer_alive = None, alive

    def _fail(self, problem: Mapping[str, Any]) -> None:
        """A poll that failed half-way may have taken events along; the next one starts from the beginning."""
        self._reader = None
        if self._problem != problem:
            self._problem = problem
            self._changes += 1
