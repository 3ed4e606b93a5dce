"""Looks after the queries of a script while the script's own thread does what it likes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from penstock.errors import InternalError, PenstockError, exhaustion
from penstock.runtime.script.queries import ScriptQueries

_LOOK_SECONDS = 0.3
_SECONDS_TO_END = 3.0

Interrupt = Callable[[], None]
"""Ends a script that goes on although it was asked to stop."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """How a run is asked to end: after the current batches, or without writing another one."""

    stop: threading.Event
    abandon: threading.Event = field(default_factory=threading.Event)


class Watcher:
    """Notes within a moment that a query has ended; stops all of them when the run is asked to stop.

    A context manager; `queries` answers None until there is a session. `script_ended` is set by whoever runs the
    script; one that has not ended a few seconds after its queries were stopped is interrupted. `check` raises what
    is to end the run, and so may a look at the queries: `failure` is that, and the queries are stopped.
    """

    def __init__(
        self,
        queries: Callable[[], ScriptQueries | None],
        stopping: Stopping,
        interrupt: Interrupt | None,
        check: Callable[[], None],
    ) -> None:
        self.script_ended = threading.Event()
        self.failure: PenstockError | None = None
        self._queries = queries
        self._stopping = stopping
        self._interrupt = interrupt
        self._check = check
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="queries of the script", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_LOOK_SECONDS):
            queries = self._queries()
            if self._stopping.stop.is_set():
                try:
                    if queries is not None:
                        queries.stop_all(self._stopping.abandon)
                except Exception as error:  # noqa: BLE001 - the script must be interrupted all the same
                    self._fail(error)
                if not self.script_ended.wait(_SECONDS_TO_END) and self._interrupt is not None:
                    self._interrupt()
                return
            try:
                self._check()
                if queries is not None:
                    queries.look()
            except Exception as error:  # noqa: BLE001 - only this thread notices that a query has ended
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        known = error if isinstance(error, PenstockError) else exhaustion(error)
        self.failure = self.failure or known or InternalError("SCRIPT_WATCH_FAILED", error=repr(error))
        self._stopping.abandon.set()
        self._stopping.stop.set()
