"""What each flow of the newest update does now: how busy it is, what waits for it, what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from penstock.events import Event, FlowStatus
from penstock.events.codec import fields_to_json
from penstock.events.flows.facts import FlowFact, FlowProjection
from penstock.observe.flows.throughput import Recent, RecentBatches, drain_seconds, falling_behind
from penstock.observe.status.lag import Lag
from penstock.observe.status.pipeline_status import PipelineStatus, StatusProjection

_STALLED: Final[Mapping[str, Any]] = dict.fromkeys(
    ("busy", "input_rows_per_second", "processed_rows_per_second", "drain_seconds", "falling_behind")
)
"""What the newest batch does not say of a flow any more when no task can run."""


@dataclass(frozen=True, slots=True)
class FlowLoad:
    """One flow of the newest update, as of a moment.

    Attributes:
        dataset: `schema.name` of its target.
        flow: its name.
        status: its state; None when the log has one that this version does not know.
        busy: share of the time, 0 to 1, in which its newest batches (up to 10) worked, from the start of the oldest of
            them until that moment; None before the first batch and after the flow's end.
        input_rows_per_second, processed_rows_per_second: of the newest batch; 0 while the flow waits for data, None
            after its end, and while the cluster has no executors.
        batch_ms: how long the newest batch took.
        batch_at: when it was reported.
        lag: what the sources still held when it was planned, None when they do not report it.
        drain_seconds: until that is done at the present pace; None when it does not shrink or is unknown.
        falling_behind: why the flow does not keep up, as a sentence's end, or None.
        state_rows, state_bytes: what its state stores hold; None for a flow without state.
    """

    dataset: str
    flow: str
    status: FlowStatus | None
    busy: float | None
    input_rows_per_second: float | None
    processed_rows_per_second: float | None
    batch_ms: int | None
    batch_at: datetime | None
    lag: Lag | None
    drain_seconds: float | None
    falling_behind: str | None
    state_rows: int | None
    state_bytes: int | None

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `flows` of `top --json`."""
        return fields_to_json(self)


class FlowLoadProjection(RecentBatches):
    """The load of all flows, kept up to date event by event. Not thread-safe."""

    def loads(self, now: datetime, *, over: bool) -> tuple[FlowLoad, ...]:
        """Returns the flows in the order of their first event; with `over` the update has ended, so none works."""
        return tuple(self._load(key, now, over=over) for key in self._newest)

    def _load(self, key: tuple[str, str], now: datetime, *, over: bool) -> FlowLoad:
        newest, recent = self._newest[key], self._recent.get(key, ())
        at, last = recent[-1] if recent else (None, None)
        status = newest.status
        if over and status is not None and not status.terminal:
            status = FlowStatus.STOPPED
        ended = over or (status is not None and status.terminal)
        return FlowLoad(
            newest.dataset,
            newest.flow,
            status=status,
            busy=None if ended else busy(recent, now),
            input_rows_per_second=None if ended else _rate(status, last.input_rows_per_second if last else None),
            processed_rows_per_second=None
            if ended
            else _rate(status, last.processed_rows_per_second if last else None),
            batch_ms=last.batch_duration_ms if last else None,
            batch_at=at,
            lag=Lag.of([last]) if last else None,
            drain_seconds=None if ended else drain_seconds(recent),
            falling_behind=None if ended else falling_behind(recent),
            state_rows=last.state_rows if last else None,
            state_bytes=last.state_bytes if last else None,
        )


class LoadedStatus(FlowProjection):
    """The status, and the loads of the flows, from one reading of each event. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._status = StatusProjection()
        self._loads = FlowLoadProjection()

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        self._status.take(event, fact)
        self._loads.take(event, fact)

    def look(self, now: datetime, *, writer_alive: bool | None = None) -> tuple[PipelineStatus, tuple[FlowLoad, ...]]:
        """Returns both as of `now`; `writer_alive` as for `StatusProjection.status`."""
        status = self._status.status(writer_alive=writer_alive)
        over = status.update is None or status.update.state.terminal
        loads = self._loads.loads(now, over=over)
        if status.cluster is not None and status.cluster.stalled:
            loads = tuple(replace(each, **_STALLED) for each in loads)
        return status, loads


def busy(recent: Recent, now: datetime) -> float | None:
    """Returns the share of the time from the start of the oldest batch until `now` in which batches worked, 0 to 1."""
    timed = [(at, batch.batch_duration_ms) for at, batch in recent if batch.batch_duration_ms]
    if not timed:
        return None
    began = min(at - timedelta(milliseconds=duration) for at, duration in timed)
    passed = (now - began).total_seconds() * 1000
    return round(min(sum(duration for _, duration in timed) / passed, 1.0), 3) if passed > 0 else None


def _rate(status: FlowStatus | None, of_newest_batch: float | None) -> float | None:
    return 0.0 if status is FlowStatus.IDLE else of_newest_batch
