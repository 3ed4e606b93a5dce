"""Alerts while a pipeline runs: beside the flows, and never in their way."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from penstock.alerts.changes import changes
from penstock.alerts.dispatcher import FIRST_PAUSE, AlertDispatcher
from penstock.alerts.ledger import Ledger
from penstock.alerts.message import Message
from penstock.alerts.sending import Send, send
from penstock.alerts.watch import Watch, is_running
from penstock.config import PipelineConfig
from penstock.events import Event, EventLog, EventType, Level, builders, read_events
from penstock.events.background import BackgroundThread

INTERVAL: Final = 5.0
CLOSE_SECONDS: Final = 10.0


class Alerts:
    """Follows the events of one run, and sends the destinations of the pipeline file what begins and what is over.

    A context manager, entered when the log is open and left before it is closed. A thread looks every `interval`
    seconds; first it reads what former runs have left, while the run starts. At the end it looks once more and waits
    up to `close_seconds` for the destinations; what they did not take, the next run sends. `run_is_gone` says that
    no process runs the pipeline, so that an update which the log leaves unfinished was interrupted.
    """

    def __init__(
        self,
        config: PipelineConfig,
        log: EventLog,
        *,
        run_is_gone: bool = False,
        interval: float = INTERVAL,
        close_seconds: float = CLOSE_SECONDS,
        first_pause: float = FIRST_PAUSE,
        send: Send = send,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._config = config
        self._settings = config.alerts
        self._log = log
        self._run_is_gone = run_is_gone
        self._interval = interval
        self._close_seconds = close_seconds
        self._now = now
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._watch = Watch(self._settings)
        self._ledger = Ledger(log)
        self._warned_of_names = False
        self._dispatchers = tuple(
            AlertDispatcher(
                destination,
                self._ledger,
                message=lambda alerts: Message(config.name, log.host, alerts),
                redacted=config.redact,
                send=send,
                first_pause=first_pause,
            )
            for destination in self._settings.destinations
        )
        self._thread = BackgroundThread(self._follow, "alerts", log)

    def __enter__(self) -> Self:
        self._unsubscribe = self._log.subscribe(self._events.put)
        self._first = self._log.next_sequence
        for dispatcher in self._dispatchers:
            dispatcher.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Looks a last time, and waits for the destinations, for a few seconds."""
        deadline = time.monotonic() + self._close_seconds
        self._unsubscribe()
        self._closing.set()
        self._thread.join(self._close_seconds)
        for dispatcher in self._dispatchers:
            dispatcher.finish(deadline - time.monotonic())

    def _follow(self) -> None:
        for event in read_events(self._config.storage):
            if event.sequence >= self._first:
                break
            self._ledger.apply(event)
            self._watch.apply(event)
        if self._run_is_gone:
            self._watch.run_is_gone()
        last = False
        while not last:
            last = self._closing.wait(self._interval)
            self._look()

    def _look(self) -> None:
        while not self._events.empty():
            event = self._events.get()
            self._watch.apply(event)
            if is_running(event):
                self._warn_of_unknown_names()
        now = self._now()
        found = self._watch.findings(now)
        keep_firing_for = timedelta(seconds=self._settings.keep_firing_for)
        for alert in changes(found, self._ledger.firing(), now=now, keep_firing_for=keep_firing_for):
            self._ledger.record(alert)
        for dispatcher in self._dispatchers:
            dispatcher.wake()

    def _warn_of_unknown_names(self) -> None:
        if self._warned_of_names:
            return
        self._warned_of_names = True
        for error in self._watch.unknown_tables():
            error.location = error.location or self._config.file
            built = builders.planning_warning(error.message)
            self._log.append(EventType.PLANNING_INFORMATION, *built, level=Level.WARN, error=error)
