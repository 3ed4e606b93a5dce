"""How long a batch takes as a function of its rows, fitted to the measured batches of one flow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from penstock.observe.flows.activity import BatchSample

_DISTINCT_SIZES: Final = 2.0
"""Batches whose sizes differ by less than this factor do not tell the fixed part from the part by row."""


@dataclass(frozen=True, slots=True)
class BatchTime:
    """A batch of n rows takes max(at_least, fixed + per_row x n) seconds; the first one of an update `warm_up` more.

    Attributes:
        fixed: the part that every batch takes: planning, the commits to checkpoint and table.
        per_row: the part that grows with the rows.
        at_least: for batches that were all of about one size: smaller ones are not taken to be quicker.
        warm_up: what the first batch of an update takes longer, for code that is loaded and compiled.
        most_rows: the largest batch that was measured; beyond it, the fit is extrapolated.
        error: the median of the relative errors of the fit.
        one_size: whether the batches were all of about one size.
        only_first: whether only first batches of updates were measured, so that the fit contains the warm-up.
    """

    fixed: float
    per_row: float
    at_least: float = 0.0
    warm_up: float = 0.0
    most_rows: int = 0
    error: float = 0.0
    one_size: bool = False
    only_first: bool = False

    def seconds(self, rows: int) -> float:
        """Returns how long a batch of `rows` takes."""
        return max(self.at_least, self.fixed + self.per_row * rows)

    def with_cores(self, factor: float) -> BatchTime:
        """Returns the time on `factor` times the cores: the part by row shrinks, the fixed one does not.

        This is Amdahl's law (G. Amdahl, AFIPS 1967) with the fixed part as the one that is not parallel.
        """
        return replace(self, per_row=self.per_row / factor)


def fit(samples: Sequence[BatchSample]) -> BatchTime:
    """Fits the time to batches, of which there must be one at least.

    By sizes (powers of two of the rows) the medians of rows and seconds are taken, so that a batch that stood still for
    a minute does not count. Through these a line is laid by weighted least squares, each with the weight
    count / seconds²: relative errors count, and small batches are met as well as large ones. A negative part is 0.
    """
    warm = [sample for sample in samples if not sample.first]
    used = warm if len(warm) > 1 and _have_distinct_sizes(warm) else list(samples)
    found = _line(_points(used))
    if used is not warm and len(warm) > 1 and not found.fixed:
        # First batches of about the size of the others differ by their warm-up, not by their rows.
        used, found = warm, _line(_points(warm))
    errors = [abs(found.seconds(each.rows) / (each.milliseconds / 1000) - 1) for each in used]
    firsts = [sample for sample in samples if sample.first] if used is warm else []
    late = [each.milliseconds / 1000 - found.seconds(each.rows) for each in firsts]
    return replace(
        found,
        warm_up=max(median(late), 0.0) if late else 0.0,
        most_rows=max(sample.rows for sample in samples),
        error=median(errors),
        only_first=not warm,
    )


def _have_distinct_sizes(samples: Sequence[BatchSample]) -> bool:
    rows = [sample.rows for sample in samples]
    return max(rows) >= _DISTINCT_SIZES * max(min(rows), 1)


def _points(samples: Sequence[BatchSample]) -> list[tuple[float, float, int]]:
    sizes: defaultdict[int, list[BatchSample]] = defaultdict(list)
    for sample in samples:
        sizes[sample.rows.bit_length()].append(sample)
    return [_point(each) for each in sizes.values()]


def _point(samples: Sequence[BatchSample]) -> tuple[float, float, int]:
    rows = median(sample.rows for sample in samples)
    return rows, median(sample.milliseconds for sample in samples) / 1000, len(samples)


def _line(points: Sequence[tuple[float, float, int]]) -> BatchTime:
    smallest, largest = min(points), max(points)
    if largest[0] < _DISTINCT_SIZES * max(smallest[0], 1):
        rows, seconds, _ = max(points, key=lambda point: point[2])
        return BatchTime(0.0, seconds / max(rows, 1), at_least=seconds, one_size=True)
    weights = [count / (seconds * seconds) for _, seconds, count in points]
    whole = sum(weights)
    mean_rows = sum(w * rows for w, (rows, _, _) in zip(weights, points, strict=True)) / whole
    mean_seconds = sum(w * seconds for w, (_, seconds, _) in zip(weights, points, strict=True)) / whole
    spread = sum(w * (rows - mean_rows) ** 2 for w, (rows, _, _) in zip(weights, points, strict=True))
    both = sum(
        w * (rows - mean_rows) * (seconds - mean_seconds) for w, (rows, seconds, _) in zip(weights, points, strict=True)
    )
    per_row = both / spread
    if per_row <= 0:
        return BatchTime(mean_seconds, 0.0)
    fixed = mean_seconds - per_row * mean_rows
    if fixed > 0:
        return BatchTime(fixed, per_row)
    squares = sum(w * rows * rows for w, (rows, _, _) in zip(weights, points, strict=True))
    products = sum(w * rows * seconds for w, (rows, seconds, _) in zip(weights, points, strict=True))
    return BatchTime(0.0, products / squares)
