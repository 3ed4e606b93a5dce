"""Time as a seam: the engine asks a Clock, so that tests and recorded logs decide what time it is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Something that knows the time."""

    def now(self) -> datetime:
        """Returns the current moment, aware of its time zone."""
        ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """Returns the current moment in UTC."""
        return datetime.now(UTC)
