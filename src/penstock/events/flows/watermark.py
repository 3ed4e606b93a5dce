"""Watches a flow's watermark, batch by batch: whether it is stalled although rows arrive, or in the future."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

from penstock.events.flows.facts import details_of, flow_key
from penstock.events.flows.progress import batch_progress_of, checkpointed_batch_of
from penstock.events.types import BatchProgress, CheckpointedBatch, Event, EventType

STALLED_BATCHES: Final = 10
"""How many batches in a row may bring nothing but rows older than those that came before them."""

HELD_BACK_BATCHES: Final = 3
HELD_BACK_TIME: Final = timedelta(minutes=10)
"""How far event times may go on without the watermark, within at least so many batches."""

CLOCK_SKEW: Final = timedelta(minutes=1)
"""How far the watermark may be ahead of the clock, because clocks differ."""


class WatermarkState(Enum):
    """What a flow's watermark does.

    AHEAD: a row from the future has moved it past the clock, so that rows of now are late. STALLED: all rows that
    arrive are older than the newest one, which may have had a wrong clock. HELD_BACK: event times go on, but the
    watermark is that of another source, which delivers nothing or nothing newer.
    """

    MOVING = "MOVING"
    AHEAD = "AHEAD"
    STALLED = "STALLED"
    HELD_BACK = "HELD_BACK"


@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """A change of state; the details of a `watermark` event.

    `watermark` and `event_time_max`, the newest event time, are ISO 8601 in UTC. `batches` with rows have left the
    watermark where it is; `idle_sources`, by their names in the checkpoint, have delivered nothing in any of them.
    """

    state: WatermarkState
    watermark: str
    event_time_max: str | None
    batches: int
    idle_sources: tuple[str, ...] = ()


@dataclass(slots=True)
class WatermarkWatch:
    """One flow's watermark, over restarts when the batches of the event log are applied first. Not thread-safe."""

    state: WatermarkState = WatermarkState.MOVING
    _query_id: str | None = None
    _watermark: str | None = None
    _newest: str | None = None
    _newest_at_move: str | None = None
    _older: int = 0  # batches in a row with nothing but older rows
    _batches_since_move: int = 0  # batches with rows since the watermark has moved
    _offsets: Mapping[str, Any] = field(default_factory=dict)
    _idle: set[str] = field(default_factory=set)

    @classmethod
    def over(cls, events: Iterable[Event], flow: tuple[str, str]) -> WatermarkWatch:
        """Returns the watch of the flow, given by the full name of its target and its name, after those events."""
        watch = cls()
        for event in events:
            origin = event.origin
            if flow_key(str(origin.dataset_name), str(origin.flow_name)) != flow_key(*flow):
                continue
            progress, checkpointed = batch_progress_of(event), checkpointed_batch_of(event)
            if progress is not None and checkpointed is not None:
                watch.apply(progress, checkpointed, event.timestamp)
        return watch

    def apply(self, progress: BatchProgress, checkpointed: CheckpointedBatch, now: datetime) -> WatermarkStatus | None:
        """Takes a batch into account that was committed at `now`; returns the new state when it is another one."""
        if checkpointed.query_id != self._query_id:
            self._reset(checkpointed.query_id)
        quiet = {name for name, offset in checkpointed.offsets.items() if self._offsets.get(name) == offset}
        self._offsets = checkpointed.offsets
        if progress.watermark is None:
            self._note(progress.event_time_max)
            return None
        if progress.watermark != self._watermark:
            return self._moved(progress, now)
        if progress.num_input_rows == 0:
            return None
        self._batches_since_move += 1
        self._idle = quiet if self._batches_since_move == 1 else self._idle & quiet
        newest = self._newest
        arrived = progress.event_time_max
        older = arrived is None or (newest is not None and _time(arrived) < _time(newest))
        self._older = self._older + 1 if older else 0
        held = self._is_held_back()  # by what came before: a batch moves the watermark of the next one
        self._note(arrived)
        if self.state is WatermarkState.AHEAD and self._is_ahead(now):
            return None
        if held:
            return self._enter(WatermarkState.HELD_BACK)
        if self._older >= STALLED_BATCHES:
            return self._enter(WatermarkState.STALLED)
        return self._enter(WatermarkState.MOVING) if self.state is WatermarkState.AHEAD else None

    def _reset(self, query_id: str) -> None:
        self.state, self._query_id = WatermarkState.MOVING, query_id
        self._watermark = self._newest = self._newest_at_move = None
        self._older = self._batches_since_move = 0
        self._offsets, self._idle = {}, set()

    def _moved(self, progress: BatchProgress, now: datetime) -> WatermarkStatus | None:
        self._watermark, self._newest_at_move = progress.watermark, self._newest
        self._older = self._batches_since_move = 0
        self._idle = set()
        self._note(progress.event_time_max)
        return self._enter(WatermarkState.AHEAD if self._is_ahead(now) else WatermarkState.MOVING)

    def _is_ahead(self, now: datetime) -> bool:
        return self._watermark is not None and _time(self._watermark) > now + CLOCK_SKEW

    def _note(self, newest: str | None) -> None:
        if newest is not None and (self._newest is None or _time(newest) > _time(self._newest)):
            self._newest = newest

    def _is_held_back(self) -> bool:
        if self._batches_since_move < HELD_BACK_BATCHES or self._newest is None or self._newest_at_move is None:
            return False
        return _time(self._newest) - _time(self._newest_at_move) >= HELD_BACK_TIME

    def _enter(self, state: WatermarkState) -> WatermarkStatus | None:
        if state is self.state:
            return None
        self.state = state
        assert self._watermark is not None
        idle = tuple(sorted(self._idle)) if state is WatermarkState.HELD_BACK else ()
        return WatermarkStatus(state, self._watermark, self._newest, self._batches_since_move, idle)


def watermark_state_of(event: Event) -> WatermarkState | None:
    """Returns the state of a `watermark` event, else None."""
    if event.event_type is not EventType.WATERMARK:
        return None
    try:
        return WatermarkState(details_of(event).get("state"))
    except ValueError:
        return None


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # Spark reports times after the year 9999 as well
        return datetime.max.replace(tzinfo=UTC)
