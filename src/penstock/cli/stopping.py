"""Ctrl-C and SIGTERM: the first asks the run to stop after its current batch, the second ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from penstock.events import EventLog

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopNow(BaseException):
    """The second signal; `signal_number` says which. No `except Exception` may hold it up."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """What a shell reports for a program ended by this signal."""
        return 128 + self.signal_number


class StopRequests:
    """Turns signals into an event, inside a `with` block of the main thread.

    `stop` is set by the first signal, and `announce` called with a line for the person. The second
    raises StopNow in the main thread.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self.stop = threading.Event()
        self._announce = announce
        self._wake = threading.Event()
        self._signal: signal.Signals | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @contextmanager
    def noted_in(self, log: EventLog) -> Iterator[None]:
        """Follows a run (`runtime.followers.Follower`): the request is a `user_action` STOP in its log.

        Ctrl-C is pressed by whoever started the command; who sends SIGTERM nobody knows.
        """
        noting = threading.Thread(target=self._note, args=(log,), name="stop request", daemon=True)
        noting.start()
        try:
            yield
        finally:
            self._wake.set()
            noting.join()

    def _note(self, log: EventLog) -> None:
        from penstock.errors import PenstockError
        from penstock.events import EventType, builders
        from penstock.events.audit import Actor

        self._wake.wait()
        if self._signal is not None:
            by = None if self._signal is signal.SIGINT else Actor(None, "signal")
            with suppress(PenstockError):  # a log that cannot be written has ended the run already
                asked = builders.user_action("STOP", by=by, arguments={"signal": self._signal.name})
                log.append(EventType.USER_ACTION, *asked)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            raise StopNow(number)
        self._signal = signal.Signals(number)
        self.stop.set()
        self._wake.set()
        again = "press Ctrl-C again" if number == signal.SIGINT else "send the signal again"
        self._announce(f"Stopping after the current batch; {again} to stop at once.")
