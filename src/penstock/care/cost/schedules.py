"""Ways to run a pipeline: always on, or started at intervals to process what is available."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from penstock.observe.watermark import delay_text


class ScheduleKind(Enum):
    """What a schedule does with the cluster."""

    ALWAYS_ON = "always_on"
    AVAILABLE_NOW = "available_now"


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a pipeline processes.

    ALWAYS_ON keeps the cluster: `interval` is that of a processing-time trigger in seconds, 0 starts each batch when
    the last one has ended. AVAILABLE_NOW starts a cluster and a run every `interval` seconds, and stops both.
    """

    kind: ScheduleKind
    interval: float

    @property
    def always_on(self) -> bool:
        """Whether the cluster is never stopped."""
        return self.kind is ScheduleKind.ALWAYS_ON

    @property
    def name(self) -> str:
        """How people call it."""
        if self.always_on:
            return f"always on, trigger {length_text(self.interval)}" if self.interval else "always on"
        return f"AvailableNow every {length_text(self.interval)}"


_MINUTE: Final = 60.0
_HOUR: Final = 3600.0
TRIGGERS: Final = (0.0, 10.0, _MINUTE)
EVERY: Final = (5 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, 24 * _HOUR)


def schedules(triggers: Sequence[float] = (), every: Sequence[float] = ()) -> tuple[Schedule, ...]:
    """Returns the schedules to compare: those of the intervals given, the usual ones of a kind without; always on."""
    on = sorted({0.0, *triggers} if triggers or every else set(TRIGGERS))
    runs = sorted(set(every)) if triggers or every else list(EVERY)
    return (
        *(Schedule(ScheduleKind.ALWAYS_ON, interval) for interval in on),
        *(Schedule(ScheduleKind.AVAILABLE_NOW, interval) for interval in runs),
    )


def length_text(seconds: float) -> str:
    """Returns `10 seconds`, `1 hour`, `90 minutes`."""
    return delay_text(round(seconds * 1000))
