"""Tries a flow again after an error that can pass, with growing pauses; ends a loop of failures."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.config import RetrySettings
from penstock.errors import ExternalError, PenstockError

SAME_FAILURES: Final = 10
"""So many failures alike within the window end a flow, although it gets on in between."""

WINDOW_SECONDS: Final = 3600.0
_NUMBER = re.compile(r"[0-9a-f]*\d[0-9a-f-]*", re.IGNORECASE)


class Stopped(BaseException):
    """The update was asked to stop; not an error, and not for a user's `except Exception`."""


def run_with_retries(
    attempt: Callable[[], None],
    *,
    settings: RetrySettings,
    stop: threading.Event,
    on_retry: Callable[[PenstockError, float], None],
    committed: Callable[[], int] = int,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Calls `attempt` until it returns or fails for good.

    `attempt` raises PenstockErrors only; those that the catalogue marks as retryable are tried again
    `max_flow_retries` times in a row. A batch in between, which `committed` counts, begins a new row: a flow that
    runs for months may fail now and then. But ten times the same within an hour is a loop, which more tries
    do not end. `on_retry` is told the error and the pause in seconds.

    Raises:
        PenstockError: the last error; ExternalError FLOW_CRASH_LOOP in a loop.
        Stopped: `stop` was set during a pause.
    """
    failures, recent = 0, deque[tuple[float, str]]()
    while True:
        before = committed()
        try:
            attempt()
        except PenstockError as error:
            if not error.retryable:
                raise
            failures = 1 if committed() > before else failures + 1
            if failures > settings.max_flow_retries:
                raise
            _check_loop(error, recent, clock())
            pause = min(settings.first_delay * 2 ** (failures - 1), settings.longest_delay)
            on_retry(error, pause)
            if stop.wait(pause):
                raise Stopped from error
        else:
            return


def _check_loop(error: PenstockError, recent: deque[tuple[float, str]], now: float) -> None:
    """Raises FLOW_CRASH_LOOP when the same has happened too often; numbers, such as those of tasks, do not count."""
    same = f"{error.condition} {_NUMBER.sub('', error.message)}"
    recent.append((now, same))
    while recent[0][0] < now - WINDOW_SECONDS:
        recent.popleft()
    count = sum(each == same for _, each in recent)
    if count >= SAME_FAILURES:
        minutes = max(1, round((now - recent[0][0]) / 60))
        dataset, condition = error.dataset, error.condition
        raise ExternalError(
            "FLOW_CRASH_LOOP", dataset=dataset, count=count, minutes=minutes, cause=condition, detail=error.message
        ) from error
