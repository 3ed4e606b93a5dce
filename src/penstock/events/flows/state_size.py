"""How much state the flows keep, from their newest batches in the event log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from penstock.errors.text import plural
from penstock.events.flows.facts import flow_key
from penstock.events.flows.progress import batch_progress_of
from penstock.events.types import BatchProgress, Event

Sizes = dict[tuple[str, str], "StateSize"]
"""By the full name of a flow's target, and the flow's name, both in lower case."""

_NEWEST: Final = 100
_HOUR: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class StateSize:
    """What a flow's stateful operators kept after its newest batch, `bytes` in memory.

    `growth` is how many rows came to it in each of the newest `batches` on average; None when only one is known.
    `daily_growth` is the same in rows a day, None when the batches do not span an hour.
    """

    rows: int
    bytes: int
    batches: int = 1
    growth: float | None = None
    daily_growth: float | None = None

    def describe(self) -> str:
        """Returns it in words."""
        text = f"{plural(self.rows, 'row')} of state, {self.bytes / 1e6:,.1f} MB in memory"
        if self.growth is None:
            return text
        more = f"{abs(self.growth):,.0f} {'fewer' if self.growth < 0 else 'more'}"
        batches = "the last batch" if self.batches == 1 else f"each of the last {self.batches} batches"
        daily = "" if self.daily_growth is None else f", {self.daily_growth:+,.0f} a day"
        return f"{text}, {more} with {batches}{daily}"


@dataclass(slots=True)
class StateGrowth:
    """The newest batches of one flow with state, added in the order of the log."""

    _batches: deque[tuple[datetime, int, int, int]] = field(default_factory=lambda: deque(maxlen=_NEWEST))

    def add(self, at: datetime, progress: BatchProgress) -> None:
        """Takes a batch that was reported at `at`; one without state changes nothing."""
        if progress.state_rows is None:
            return
        if self._batches and progress.batch_id <= self._batches[-1][1]:
            self._batches.clear()  # the flow began from scratch, or repeated a batch
        self._batches.append((at, progress.batch_id, progress.state_rows, progress.state_bytes or 0))

    @property
    def size(self) -> StateSize | None:
        """The size after the newest batch, None before the first one with state."""
        if not self._batches:
            return None
        (first_at, _, first_rows, _), (at, _, rows, in_memory) = self._batches[0], self._batches[-1]
        steps, seconds = len(self._batches) - 1, (at - first_at).total_seconds()
        growth = (rows - first_rows) / steps if steps else None
        daily = (rows - first_rows) * 24 * _HOUR / seconds if seconds >= _HOUR else None
        return StateSize(rows, in_memory, steps or 1, growth, daily)


def state_sizes(events: Iterable[Event]) -> Sizes:
    """Returns the size of each flow that had state in one of its batches; `events` in their order."""
    found: dict[tuple[str, str], StateGrowth] = {}
    for event in events:
        progress, origin = batch_progress_of(event), event.origin
        if progress is not None and origin.dataset_name and origin.flow_name:
            key = flow_key(origin.dataset_name, origin.flow_name)
            found.setdefault(key, StateGrowth()).add(event.timestamp, progress)
    return {key: size for key, growth in found.items() if (size := growth.size) is not None}
