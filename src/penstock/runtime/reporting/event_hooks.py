"""Calls the user's event hooks with the events of an update, beside it and never in its way."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Self

from penstock.declare import failure_location, one_line
from penstock.errors import ExternalError, PenstockError
from penstock.events import Event, EventLog, EventType, Level, builders
from penstock.events.background import BackgroundThread
from penstock.events.codec import as_dict
from penstock.graph.elements import EventHook

CAPACITY: Final = 10_000
_CLOSE_SECONDS: Final = 10.0


class _Hook:
    """One hook and its failures in a row."""

    def __init__(self, declared: EventHook) -> None:
        self.declared = declared
        self.failures = 0
        self.disabled = False


class EventHooks:
    """Delivers the events of one update to the hooks that its pipeline declares.

    Events wait in a queue of `capacity` until the pipeline's files are loaded (`start`), then a thread
    delivers them in the order of the log. What does not fit is dropped and counted. The end of the
    update waits for the hooks `close_seconds`, not longer: a hook that hangs ends with the process.
    Lines of the user's files are shown relative to `root`.
    """

    def __init__(
        self, log: EventLog, root: Path, *, capacity: int = CAPACITY, close_seconds: float = _CLOSE_SECONDS
    ) -> None:
        self._log = log
        self._root = root
        self._close_seconds = close_seconds
        self._events: queue.Queue[Event | None] = queue.Queue(capacity)
        self._dropped = 0
        self._hooks: tuple[_Hook, ...] = ()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._unsubscribe = log.subscribe(self._offer)

    def start(self, hooks: Sequence[EventHook]) -> None:
        """Begins to deliver; without hooks nothing is kept any more."""
        if not hooks:
            self._unsubscribe()
            return
        self._hooks = tuple(_Hook(each) for each in hooks)
        self._thread = BackgroundThread(self._deliver, "event hooks", self._log)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Delivers what waits, for a few seconds; the log is still open."""
        self._unsubscribe()
        if self._thread is None:
            return
        deadline = time.monotonic() + self._close_seconds
        try:
            self._events.put(None, timeout=self._close_seconds)
        except queue.Full:
            pass
        else:
            self._thread.join(max(deadline - time.monotonic(), 0))
        self._closed = True
        missed = self._dropped + sum(event is not None for event in self._events.queue)
        if missed:
            names = ", ".join(hook.declared.name for hook in self._hooks)
            self._say(names, "DROPPED", f"{missed} events came faster than the hooks took them")

    def _offer(self, event: Event) -> None:
        """Called under the log's lock: never waits. What hooks cause is not given to hooks, or it would never end."""
        if event.event_type is EventType.HOOK_PROGRESS:
            return
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self._dropped += 1

    def _deliver(self) -> None:
        while (event := self._events.get()) is not None:
            for hook in self._hooks:
                if not hook.disabled and not self._closed:
                    self._call(hook, event)

    def _call(self, hook: _Hook, event: Event) -> None:
        try:
            hook.declared.function(as_dict(event))
        except BaseException as failure:  # noqa: BLE001 - a hook can raise anything, and ends nothing
            hook.failures += 1
            if not self._closed:
                self._failed(hook, failure)
        else:
            hook.failures = 0

    def _failed(self, hook: _Hook, failure: BaseException) -> None:
        most = hook.declared.max_failures
        error = ExternalError(
            "EVENT_HOOK_FAILED",
            location=failure_location(failure.__traceback__, self._root) or hook.declared.location,
            name=hook.declared.name,
            error=type(failure).__name__,
            detail=one_line(failure),
        )
        if hook.failures == 1:  # a hook that fails always would fill the log
            self._say(hook.declared.name, "FAILED", error.message, error)
        if most is not None and hook.failures >= max(most, 1):
            hook.disabled = True
            self._say(hook.declared.name, "DISABLED", f"{hook.failures} failures in a row", error)

    def _say(
        self,
        hook: str,
        status: Literal["FAILED", "DISABLED", "DROPPED"],
        reason: str,
        error: PenstockError | None = None,
    ) -> None:
        built = builders.hook_progress(hook, status, reason=reason)
        # A hook that hung can come back when the log is closed; a full disk is reported by the flows.
        with contextlib.suppress(ValueError, PenstockError):
            self._log.append(EventType.HOOK_PROGRESS, *built, level=Level.WARN, error=error)
