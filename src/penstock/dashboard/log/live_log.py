"""The event log as the dashboard sees it: read incrementally, projected, and safe to ask from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.access.sight import Sight, everything
from penstock.dashboard.log.partial_snapshot import PartialSnapshot, is_long
from penstock.dashboard.log.projections import Projections
from penstock.errors import PenstockError
from penstock.events import EventReader
from penstock.observe.current import resource_errors
from penstock.observe.lineage import Lineage
from penstock.observe.problems import Problem, find_problems
from penstock.observe.status.pipeline_status import PipelineStatus
from penstock.storage import is_locked, read_holder

_FRESH_SECONDS = 0.2
_LOOK_SECONDS: Final = 0.1
"""How long one look may read: a page does not wait for the whole of a long log."""

_EVENTS_AT_ONCE: Final = 1000
_RESOURCES_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one page is made of; `projections` may be read under `LiveLog.lock` only.

    `problem` is `{condition, message, fix}` when the storage cannot be read at the moment; the
    rest is then as of the last time that it could. `read` is the part of the log that was read, 1 when it is all;
    before, states are those of now, and single events of long ago are missing; `sums` is whether sums over all time
    are complete.
    """

    version: str
    epoch: int
    status: PipelineStatus
    lineage: Lineage
    problems: tuple[Problem, ...]
    problem: Mapping[str, Any] | None
    skipped: int
    read: float
    sums: bool


class LiveLog:
    """Reads a growing event log on demand, at most five times a second however many pages ask.

    The log may be missing, empty, cut short, deleted and recreated, or hold lines of a newer
    version. A storage that cannot be read is a fact for the page, not an error. A long log is read
    in pieces, each byte once; meanwhile the pages show a `PartialSnapshot`.

    Raises:
        ConfigError: the storage's URI has a scheme that this installation cannot read.
    """

    def __init__(self, storage_uri: str, begin_sight: Callable[[], Sight] = lambda: everything) -> None:
        """`begin_sight` returns what is shown of a log that is read from its beginning."""
        self._begin_sight = begin_sight
        self.lock = threading.RLock()
        self.closed = False
        self._reader = EventReader(storage_uri)
        self.storage = self._reader.storage.uri
        self._whole = Projections(sight=begin_sight())
        self._partial: PartialSnapshot | None = None
        self._generation = -1
        self._epoch = time.time_ns() // 1_000_000  # none of a dashboard before this one, whose pages may still be open
        self._changes = 0
        self._problem: Mapping[str, Any] | None = None
        self._writer_alive: bool | None = None
        self._resources: tuple[Mapping[str, Any], ...] = ()
        self._resources_at = -_RESOURCES_SECONDS
        self._behind = False
        self._reads_ahead = False
        self._looked = -1.0
        self._snapshot: Snapshot | None = None

    @property
    def projections(self) -> Projections:
        """What the pages show; ask under `lock`."""
        return self._whole if self._partial is None else self._partial.projections

    def snapshot(self) -> Snapshot:
        """Returns the state as of now; cheap when nothing changed."""
        with self.lock:
            if time.monotonic() - self._looked >= _FRESH_SECONDS:
                self._look()
                self._looked = time.monotonic()
            if self._snapshot is None or self._snapshot.version != self._version:
                self._snapshot = self._take()
            return self._snapshot

    def read_ahead(self) -> None:
        """Reads until the end of the log or `close`, letting pages in between; for a thread of its own."""
        while not self.closed:
            with self.lock:
                self._reads_ahead = False
                self._look()
                if not self._behind:
                    return
                self._reads_ahead = True
            time.sleep(0.01)

    def close(self) -> None:
        """Lets the open pages' connections end; from any thread, more than once."""
        self.closed = True

    @property
    def _version(self) -> str:
        return f"{self._epoch}-{self._changes}"

    def _take(self) -> Snapshot:
        # of a log that is read half, it is not known yet what became of the update
        half = self._behind and self._partial is None
        status = self.projections.status.status(writer_alive=None if half else self._writer_alive)
        status = replace(status, resources=self._resources)
        lineage = self.projections.lineage.lineage()
        return Snapshot(
            version=self._version,
            epoch=self._epoch,
            status=status,
            lineage=lineage,
            problems=find_problems(status, lineage, self.projections.throughput.all()),
            problem=self._problem,
            skipped=self.projections.damaged + (self._partial or self._reader).skipped,
            read=self._reader.bytes_read / max(self._reader.bytes_total, 1) if self._behind else 1.0,
            sums=not self._behind or (self._partial is not None and self._partial.sums),
        )

    def _look(self) -> None:
        try:
            alive = is_locked(self._reader.storage)  # checked first: a run that ends in between wrote its end before
            resources = self._look_at_resources() if alive else ()
            changed = self._read()
        except PenstockError as error:
            self._fail({"condition": error.condition, "message": error.message, "fix": error.fix})
            return
        except OSError as error:
            message = f"The storage cannot be read: {error.strerror or error}."
            self._fail({"condition": None, "message": message, "fix": "Check the folder and its permissions."})
            return
        now = None, alive, resources
        if changed or now != (self._problem, self._writer_alive, self._resources):
            self._changes += 1
        self._problem, self._writer_alive, self._resources = now

    def _look_at_resources(self) -> tuple[Mapping[str, Any], ...]:
        """Returns what is wrong with the run's processes, as of the last ten seconds: a look takes a while."""
        if time.monotonic() - self._resources_at < _RESOURCES_SECONDS:
            return self._resources
        self._resources_at = time.monotonic()
        return resource_errors(read_holder(self._reader.storage))

    def _read(self) -> bool:
        """Takes what is new, for at most a moment; returns whether there was anything."""
        until, changed, was_behind = time.monotonic() + _LOOK_SECONDS, False, self._behind
        if self._generation < 0:
            self._begin()
            if self._partial is not None:
                return True  # the first page waits for nothing else
        elif self._partial is not None and not self._partial.look():
            self._look_ahead()
        while not (self._reads_ahead and self._partial is not None):  # else a page need not wait for that
            events = self._reader.poll(limit=_EVENTS_AT_ONCE)
            if self._reader.generation != self._generation:
                self._begin()
            for event in events:
                self._whole.apply(event)
            changed = changed or bool(events)
            self._behind = len(events) == _EVENTS_AT_ONCE
            if not self._behind and self._partial is not None:
                self._partial = None
                self._epoch += 1  # the charts have seen a part only
            if not self._behind or time.monotonic() >= until:
                break
        return changed or was_behind

    def _begin(self) -> None:
        self._whole = Projections(sight=self._begin_sight())
        self._generation, self._partial = self._reader.generation, None
        self._epoch += 1
        if is_long(self._reader.storage):
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Shows what the totals and the newest events have while a long log is read."""
        self._partial = PartialSnapshot(self._reader.storage, self._begin_sight())
        self._behind = True
        self._epoch += 1

    def _fail(self, problem: Mapping[str, Any]) -> None:
        """What was read stays; a poll that failed has taken nothing, and the next one goes on."""
        if self._problem != problem:
            self._problem = problem
            self._changes += 1
