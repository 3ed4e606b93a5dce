"""Tries a flow again after an error that can pass, with growing pauses; ends a loop of failures."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from penstock.config import RetrySettings
from penstock.errors import ExternalError, PenstockError

MAX_FLOW_RETRIES: Final = 2
"""So often a flow is tried again in a row, unless the settings say otherwise."""

SAME_FAILURES: Final = 10
"""So many failures alike within the window end a flow, although it gets on in between."""

WINDOW_SECONDS: Final = 3600.0
JITTER: Final = 0.25
"""Up to this share of a pause is left out, so that flows which failed together do not come back together."""

_MOST_DOUBLINGS: Final = 30
_NUMBER = re.compile(r"[0-9a-f]*\d[0-9a-f-]*", re.IGNORECASE)


class Stopped(BaseException):
    """The update was asked to stop; not an error, and not for a user's `except Exception`."""


def run_with_retries(
    attempt: Callable[[], None],
    *,
    settings: RetrySettings,
    continuous: bool,
    stop: threading.Event,
    on_retry: Callable[[PenstockError, float], None],
    committed: Callable[[], int] = int,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> None:
    """Calls `attempt` until it returns or fails for good.

    `attempt` raises PenstockErrors only; those that the catalogue marks as retryable are tried again
    `max_flow_retries` times in a row. A batch in between, which `committed` counts, begins a new row: a flow that
    runs for months may fail now and then. But ten times the same within an hour is a loop, which more tries
    do not end. Neither limit holds for an outage in a `continuous` update, unless the settings give a number:
    such a flow waits as long as the service is away. `on_retry` gets the error and the pause in seconds;
    `chance` gives numbers from 0 to 1.

    Raises:
        PenstockError: the last error; ExternalError FLOW_CRASH_LOOP in a loop.
        Stopped: `stop` was set during a pause.
    """
    waits = continuous and settings.max_flow_retries is None
    limit = MAX_FLOW_RETRIES if settings.max_flow_retries is None else settings.max_flow_retries
    in_a_row, recent = Counter[bool](), deque[tuple[float, str]]()
    while True:
        before = committed()
        try:
            attempt()
        except PenstockError as error:
            if not error.retryable:
                raise
            if committed() > before:
                in_a_row.clear()
            unlimited = waits and error.is_outage
            in_a_row[unlimited] += 1
            if not unlimited:
                if in_a_row[unlimited] > limit:
                    raise
                _check_loop(error, recent, clock())
            doublings = min(in_a_row[unlimited] - 1, _MOST_DOUBLINGS)
            pause = min(settings.first_delay * 2**doublings, settings.longest_delay) * (1 - JITTER * chance())
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
