"""Sends alerts to one destination, in a thread of its own: one that is slow or dead holds up no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from tenacity import RetryCallState, RetryError, Retrying, stop_when_event_set, wait_exponential, wait_random
from tenacity.nap import sleep_using_event

from penstock.alerts.ledger import Ledger
from penstock.alerts.message import Message
from penstock.alerts.sending import Send, failure, may_pass
from penstock.config import Destination
from penstock.events.alerts import Alert

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
_REPORT_AFTER: Final = 3
"""A failure that can pass is reported when so many tries have failed."""


class AlertDispatcher:
    """Sends what is undelivered, all of it in one message, and tries again until it is taken or the thread is stopped.

    What begins or ends meanwhile changes the message of the next try: after an outage one message says how it is now.
    """

    def __init__(
        self,
        destination: Destination,
        ledger: Ledger,
        *,
        message: Callable[[tuple[Alert, ...]], Message],
        redacted: Callable[[str], str],
        send: Send,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._destination = destination
        self._ledger = ledger
        self._message = message
        self._redacted = redacted
        self._send = send
        self._news = threading.Event()
        self._stop = threading.Event()
        self._done = threading.Event()
        self._done.set()
        self._failing = False
        self._pause = wait_exponential(multiplier=first_pause, max=LONGEST_PAUSE) + wait_random(0, first_pause)
        self._thread = threading.Thread(target=self._work, name=f"alerts to {destination.name}", daemon=True)

    def start(self) -> None:
        """Begins to look for what is undelivered."""
        self._thread.start()

    def wake(self) -> None:
        """There may be something to send; returns at once."""
        self._done.clear()
        self._news.set()

    def finish(self, seconds: float) -> None:
        """Waits so long for what is to be sent, unless the destination does not answer anyway; then stops."""
        if not self._failing:
            self._done.wait(max(seconds, 0))
        self._stop.set()
        self._news.set()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._news.wait()
            self._news.clear()
            try:
                self._retrying()(self._deliver)
            except RetryError:
                return  # stopped; the log knows what is undelivered
            if not self._news.is_set():
                self._done.set()

    def _retrying(self) -> Retrying:
        return Retrying(
            stop=stop_when_event_set(self._stop),
            wait=self._wait,
            sleep=sleep_using_event(self._stop),
            before_sleep=self._note_failure,
        )

    def _deliver(self) -> None:
        alerts = self._ledger.undelivered(self._destination.name)
        if not alerts:
            return
        self._send(self._destination, self._message(alerts))
        self._failing = False
        self._ledger.delivered(self._destination.name, alerts)

    def _wait(self, state: RetryCallState) -> float:
        passing = state.outcome is not None and may_pass(state.outcome.exception())
        return self._pause(state) if passing else LONGEST_PAUSE

    def _note_failure(self, state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        if self._failing or not isinstance(error, Exception):
            return
        if state.attempt_number >= _REPORT_AFTER or not may_pass(error):
            self._failing = True
            refusal = failure(self._destination, error, self._redacted)
            self._ledger.failed(self._destination.name, self._ledger.undelivered(self._destination.name), refusal)
            self._done.set()  # who waits for it to end need not wait for more tries
