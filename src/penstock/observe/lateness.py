"""The histogram of lateness: how many rows came how late, in intervals that a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

EDGES_MS: Final = (
    0,
    *(n * _SECOND for n in (1, 5, 10, 30)),
    *(n * _MINUTE for n in (1, 5, 10, 30)),
    *(n * _HOUR for n in (1, 3, 6, 12)),
    *(n * _DAY for n in (1, 3, 7, 30)),
)
"""Where intervals begin, each one of `penstock.events.DELAYS_MS`: rows are counted exactly between them."""


@dataclass(frozen=True, slots=True)
class LatenessBar:
    """The rows that were at least `begin_ms` late and less than `end_ms`, None for however late.

    `lost`: whether the watermark's present delay drops such rows.
    """

    begin_ms: int
    end_ms: int | None
    rows: int
    lost: bool


def lateness_bars(late: Mapping[int, int], delay_ms: int) -> tuple[LatenessBar, ...]:
    """Returns the histogram of `late`, rows by the milliseconds at which their interval begins, see `Lateness`.

    The bars follow each other from 0 to the latest row, and at least to the one that begins with `delay_ms`.
    """
    latest = max((at for at, rows in late.items() if rows), default=0)
    edges = sorted({*EDGES_MS, delay_ms})
    shown = [edge for edge in edges if edge <= max(latest, delay_ms)]
    bars = []
    for place, begin in enumerate(shown):
        end = edges[place + 1] if place + 1 < len(edges) else None
        rows = sum(count for at, count in late.items() if at >= begin and (end is None or at < end))
        bars.append(LatenessBar(begin, end, rows, lost=begin >= delay_ms))
    return tuple(bars)
