"""What loggers write to standard error where logging is not configured: little of what repeats itself."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST: Final = 10
SECONDS: Final = 60.0


@functools.cache
def limit_repeated_messages() -> None:
    """Limits what the handler of last resort writes; handlers that a pipeline configures are its own."""
    if logging.lastResort is not None:
        logging.lastResort.addFilter(RepeatedMessages())


@dataclass(slots=True)
class _Place:
    since: float
    written: int = 0
    left_out: int = 0


class RepeatedMessages(logging.Filter):
    """Passes ten messages a minute of each place in the code; the next one then says how many were left out.

    A library that reports in a loop that it failed, with a stack trace each time, would fill a disk.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._places: dict[tuple[str, int], _Place] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Called by the handler for each message, under its lock or not: a lost count does no harm."""
        now, key = self._clock(), (record.pathname, record.lineno)
        place = self._places.get(key)
        if place is None or now - place.since >= SECONDS:
            left_out = 0 if place is None else place.left_out
            place = self._places[key] = _Place(now)
            if left_out:
                record.msg = f"{record.getMessage()} ({left_out:,} more like this before it were left out)"
                record.args = ()
        if place.written < MOST:
            place.written += 1
            return True
        place.left_out += 1
        return False
