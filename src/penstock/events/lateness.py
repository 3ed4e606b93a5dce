"""How late the rows of one batch came; part of the batch's `flow_progress` event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

DELAYS_MS: Final = (
    *(0, 100, 200, 500),
    *(n * _SECOND for n in (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)),
    *(n * _MINUTE for n in (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)),
    *(n * _HOUR for n in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(n * _DAY for n in (1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90)),
)
"""The delays whose loss is counted, besides the one that a query has."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """The rows that a batch gave to the operator that drops late ones, by how late they were.

    A row is as late as the newest event time of earlier batches is after the time that decides about the row: the end
    of its window, or its own. `late` counts the rows that were late at all (0 included) by intervals, each named by the
    milliseconds at which it begins; the next name ends it. So with a delay that begins an interval, exactly the rows of
    that interval and later ones are dropped. `delay_ms` is the watermark's own delay, and begins one. `window_ms` is
    the longest window of a row, 0 without windows. `without_time` rows came besides, and had no event time.
    """

    rows: int
    delay_ms: int
    window_ms: int = 0
    late: Mapping[int, int] = field(default_factory=dict)
    without_time: int = 0

    def to_json(self) -> dict[str, Any]:
        """Returns JSON-ready data for `from_json`."""
        late = {str(at): self.late[at] for at in sorted(self.late)}
        document = {"rows": self.rows, "delay_ms": self.delay_ms, "window_ms": self.window_ms, "late": late}
        return document | ({"without_time": self.without_time} if self.without_time else {})

    @classmethod
    def from_json(cls, stored: object) -> Lateness | None:
        """Returns what `to_json` gave; None for anything else."""
        if not isinstance(stored, dict):
            return None
        try:
            late = {int(at): int(count) for at, count in stored["late"].items()}
            without_time = int(stored.get("without_time", 0))
            return cls(int(stored["rows"]), int(stored["delay_ms"]), int(stored["window_ms"]), late, without_time)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
