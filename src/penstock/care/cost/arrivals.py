"""When the rows of a flow arrived: a function of the time that can be replayed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Self

from penstock.observe.flows.activity import Period


class Arrivals:
    """The rows that have arrived until a time; within each recorded period they arrive evenly.

    Between two of `times` the sum of rows in `sums` grows linearly. Periods may overlap, as they do when neighbours
    were merged.
    """

    def __init__(self, periods: Sequence[Period], origin: float = 0.0) -> None:
        """Takes periods; times count from `origin` on, which keeps their digits."""
        slopes: dict[float, float] = {}
        for period in periods:
            end = period.end - origin
            start = min(period.start - origin, end - 0.001)
            slope = period.rows / (end - start)
            slopes[start] = slopes.get(start, 0.0) + slope
            slopes[end] = slopes.get(end, 0.0) - slope
        self.times: list[float] = sorted(slopes)
        self.sums: list[float] = []
        slope = reached = 0.0
        before = self.times[0] if self.times else 0.0
        for moment in self.times:
            reached += max(slope, 0.0) * (moment - before)
            self.sums.append(reached)
            slope, before = slope + slopes[moment], moment

    @classmethod
    def combined(cls, several: Sequence[Arrivals], factor: float) -> Self:
        """Returns the sum of several, `factor` times."""
        found = cls(())
        found.times = sorted({moment for each in several for moment in each.times})
        found.sums = [factor * sum(each.until(moment) for each in several) for moment in found.times]
        return found

    @property
    def total(self) -> float:
        """The rows of all periods."""
        return self.sums[-1] if self.sums else 0.0

    def until(self, moment: float) -> float:
        """Returns how many rows have arrived until `moment`."""
        at = bisect_right(self.times, moment)
        if at == 0:
            return 0.0
        if at == len(self.times):
            return self.sums[-1]
        share = (moment - self.times[at - 1]) / (self.times[at] - self.times[at - 1])
        return self.sums[at - 1] + share * (self.sums[at] - self.sums[at - 1])

    def time_of(self, rows: float) -> float | None:
        """Returns when the sum of rows has reached `rows`, None when it never does."""
        at = bisect_left(self.sums, rows)
        if at == len(self.sums):
            # sums of fractions may miss the last row by a hair
            return self.times[-1] if self.sums and rows - self.sums[-1] < 1e-6 * max(rows, 1.0) else None
        if at == 0:
            return self.times[0]
        share = (rows - self.sums[at - 1]) / (self.sums[at] - self.sums[at - 1])
        return self.times[at - 1] + share * (self.times[at] - self.times[at - 1])
