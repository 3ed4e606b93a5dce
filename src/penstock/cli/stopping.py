"""Ctrl-C and SIGTERM: the first asks the run to stop after its current batch, the second ends it at once.

A thread sees to it that both hold in any state of the process: a call of the JVM that never returns, a Spark cluster
that does not answer, a terminal that is held, an end that hangs.
"""

from __future__ import annotations

import atexit
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

if TYPE_CHECKING:
    from penstock.events import EventLog


def end_quickly(exit_code: int) -> None:
    """Ends the process as `sys.exit` would, without taking the interpreter apart: after Spark that takes half a second.

    Whatever registered for the end is called, once, and output is flushed. Returns when that does not do: a thread
    still works, or output cannot be written.
    """
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(exit_code)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NO_MORE: Final = 0
_AT_ONCE_SECONDS: Final = 3.0
"""So long what is unwound after the second signal may take."""

_CONTINUES: Final = "Stopped at once. The next run continues after the last committed batch."
_SHOW_CURSOR: Final = "\x1b[?25h"


class StopNow(BaseException):
    """The second signal; `signal_number` says which. No `except Exception` may hold it up."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """What a shell reports for a program ended by this signal."""
        return 128 + self.signal_number

    def end(self) -> NoReturn:
        """Ends a run: Spark's threads would hold a normal exit up."""
        sys.stdout.flush()
        end_now(self.signal_number, _CONTINUES)


def end_now(signal_number: int, why: str) -> NoReturn:
    """Ends this process and its JVM as a signal would: opens no file, starts no thread, waits for nothing.

    What is committed stays; the next run continues there. `why` is a line for the person, if anybody can read it now.
    """
    with suppress(OSError, ValueError):
        stderr = select.poll()
        stderr.register(2, select.POLLOUT)
        if stderr.poll(0):  # else it is not read, and a write would wait
            os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}{why}\n".encode())
    java = sys.modules.get("penstock.spark.session.setup.children")  # not imported: most commands need no Spark
    if java is not None:
        java.kill_children()
    os._exit(128 + signal_number)


def interruptible() -> None:
    """Lets Ctrl-C raise KeyboardInterrupt, and a second one end the process, whatever the first one waits for."""

    def interrupt(number: int, _: FrameType | None) -> None:
        signal.signal(number, lambda number, _: end_now(number, "Stopped at once."))
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have had it ignored
        signal.signal(signal.SIGINT, interrupt)


class StopRequests:
    """Turns signals into an event, inside a `with` block of the main thread.

    `stop` is set by the first signal, and `announce` called with a line for the person. The second
    raises StopNow in the main thread. A process that still runs `timeout` seconds after the first signal, or a few
    after the second, is ended by `end_now`, also after the block: the end of the interpreter may hang, too.
    """

    def __init__(self, announce: Callable[[str], None], *, timeout: float = math.inf) -> None:
        self.stop = threading.Event()
        self._announce = announce
        self._timeout = timeout
        self._wake = threading.Event()
        self._signal: signal.Signals | None = None
        self._previous: dict[int, Any] = {}
        self._own_interrupts = 0

    def __enter__(self) -> Self:
        # The interpreter writes the number of each signal there, whatever the main thread is doing.
        self._received, self._sent = os.pipe()
        os.set_blocking(self._sent, False)
        threading.Thread(target=self._watch, name="stop timeout", daemon=True).start()
        self._wakeup_before = signal.set_wakeup_fd(self._sent, warn_on_full_buffer=False)
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        if self._signal is None or math.isinf(self._timeout):
            os.write(self._sent, bytes([_NO_MORE]))

    @contextmanager
    def noted_in(self, log: EventLog) -> Iterator[None]:
        """Follows a run (`runtime.followers.Follower`): the request is a `user_action` STOP in its log.

        Ctrl-C is pressed by whoever started the command; who sends SIGTERM is not known.
        """
        from penstock.events.background import BackgroundThread

        noting = BackgroundThread(lambda: self._note(log), "stop request", log)
        noting.start()
        try:
            yield
        finally:
            self._wake.set()
            noting.join()

    def interrupt(self) -> None:
        """Raises StopNow in the main thread, which does not end by itself; from another thread, after the first signal.

        Unlike a second signal it does not make the process end within seconds.
        """
        self._own_interrupts += 1
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _note(self, log: EventLog) -> None:
        from penstock.errors import PenstockError
        from penstock.events import EventType, builders
        from penstock.events.log.audit import Actor

        self._wake.wait()
        if self._signal is not None:
            by = None if self._signal is signal.SIGINT else Actor(None, "signal")
            with suppress(PenstockError):  # a log that cannot be written has ended the run already
                action = builders.user_action("STOP", by=by, arguments={"signal": self._signal.name})
                log.append(EventType.USER_ACTION, *action)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            raise StopNow(number)
        self._signal = signal.Signals(number)
        self.stop.set()
        self._wake.set()
        again = "press Ctrl-C again" if number == signal.SIGINT else "send the signal again"
        within = "" if math.isinf(self._timeout) else f" within {self._timeout:.0f} seconds"
        self._announce(f"Stopping after the current batch{within}; {again} to stop at once.")

    def _watch(self) -> None:
        """Runs in a thread; calls nothing that could wait for another one."""
        ready = select.poll()
        ready.register(self._received, select.POLLIN)
        deadline, last, count = math.inf, 0, 0
        while (left := deadline - time.monotonic()) > 0:
            if not ready.poll(None if math.isinf(left) else math.ceil(left * 1000)):
                continue
            for number in os.read(self._received, 64):
                if number == _NO_MORE:
                    os.close(self._received)
                    os.close(self._sent)
                    return
                if number == signal.SIGINT and self._own_interrupts:
                    self._own_interrupts -= 1
                # A script can have handlers of its own, and then means to end by itself.
                elif number in _SIGNALS and (self._signal is not None or signal.getsignal(number) == self._handle):
                    last, count = number, count + 1
                    seconds = self._timeout if count == 1 else _AT_ONCE_SECONDS
                    if not math.isinf(self._timeout):
                        deadline = min(deadline, time.monotonic() + seconds)
        end_now(last, _CONTINUES)
