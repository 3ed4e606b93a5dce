"""Is a flow keeping up? Its recent rates, whether it falls behind, and when its backlog will be gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.events import BatchProgress, Event
from penstock.events.flows.facts import FlowFact, FlowProjection, flow_key
from penstock.observe.status.cluster import ClusterProjection

WINDOW: Final = 10
"""How many of the newest batches are used."""

_ENOUGH: Final = 3
_TOLERANCE: Final = 1.1

Recent = Sequence[tuple[datetime, BatchProgress]]


@dataclass(frozen=True, slots=True)
class FlowThroughput:
    """The newest batches (up to 10) of one flow in the newest update.

    `rows_per_second` is the rows read divided by the time that their batches took; None, as all that follows from it,
    while the cluster has no executors.
    `falling_behind` says why, in words, or is None; see `falling_behind`. `drain_seconds` is the
    time until the backlog is gone at the present pace, None when it does not shrink or is unknown.
    """

    dataset: str
    flow: str
    batches: int
    rows_per_second: float | None
    falling_behind: str | None
    drain_seconds: float | None
    since: datetime | None = None
    """When the oldest of these batches was reported: what is said is true since then at least."""


class RecentBatches(FlowProjection):
    """The newest fact and the newest batches of each flow in the newest update. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._update_id: str | None = None
        self._newest: dict[tuple[str, str], FlowFact] = {}
        self._recent: dict[tuple[str, str], deque[tuple[datetime, BatchProgress]]] = {}

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        if event.event_type.of_its_update and event.origin.update_id != self._update_id:
            self._update_id = event.origin.update_id
            self._newest.clear()
            self._recent.clear()
        if fact is None:
            return
        key = flow_key(fact.dataset, fact.flow)
        self._newest[key] = fact
        if fact.progress is not None:
            self._recent.setdefault(key, deque(maxlen=WINDOW)).append((fact.timestamp, fact.progress))


class ThroughputProjection(RecentBatches):
    """The throughput of all flows, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._cluster = ClusterProjection()

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        self._cluster.apply(event)
        super().take(event, fact)

    def of(self, dataset: str) -> tuple[FlowThroughput, ...]:
        """Returns the flows into `dataset` (`schema.name`) that had a batch in the newest update."""
        return tuple(self._flow(key) for key in self._recent if key[0] == dataset.casefold())

    def all(self) -> tuple[FlowThroughput, ...]:
        """Returns the flows of all datasets that had a batch in the newest update."""
        return tuple(map(self._flow, self._recent))

    def _flow(self, key: tuple[str, str]) -> FlowThroughput:
        recent, cluster = self._recent[key], self._cluster.status()
        stalled = cluster is not None and cluster.stalled
        return FlowThroughput(
            self._newest[key].dataset,
            self._newest[key].flow,
            batches=len(recent),
            rows_per_second=None if stalled else rows_per_second(recent),
            falling_behind=None if stalled else falling_behind(recent),
            drain_seconds=None if stalled else drain_seconds(recent),
            since=recent[0][0],
        )


def rows_per_second(recent: Recent) -> float | None:
    """Returns rows read per second of batch time, or None when no batch has its duration."""
    timed = [batch for _, batch in recent if batch.batch_duration_ms]
    milliseconds = sum(batch.batch_duration_ms or 0 for batch in timed)
    return round(1000 * sum(batch.num_input_rows for batch in timed) / milliseconds, 3) if milliseconds else None


def falling_behind(recent: Recent) -> str | None:
    """Returns why the flow does not keep up, as a sentence's end, or None when it does.

    It takes three batches with data to say so. Where the source knows its backlog, that decides:
    it grew by over a tenth from the first of the batches to the last. Elsewhere rows arrived over
    a tenth faster than they were processed, in each of the last three batches: one slow batch, and
    the first one after a pause, are no sign.
    """
    with_data = [(moment, batch) for moment, batch in recent if batch.num_input_rows]
    if len(with_data) < _ENOUGH:
        return None
    backlog = _backlog([batch for _, batch in with_data])
    if backlog is not None:
        unit, amounts = backlog
        first, last = amounts[0], amounts[-1]
        if last > first * _TOLERANCE and last > 0:
            return f"the backlog grew from {first:,} to {last:,} {unit} in {len(amounts)} batches"
        return None
    rates = [
        (batch.input_rows_per_second, batch.processed_rows_per_second)
        for _, batch in with_data[-_ENOUGH:]
        if batch.input_rows_per_second and batch.processed_rows_per_second
    ]
    if len(rates) == _ENOUGH and all(arrived > _TOLERANCE * done for arrived, done in rates):
        arrived, done = rates[-1]
        return f"rows arrive at {arrived:,.0f}/s and are processed at {done:,.0f}/s"
    return None


def drain_seconds(recent: Recent) -> float | None:
    """Returns the seconds until the backlog is gone at the pace of these batches, 0 when it is.

    None without three batches, when the source does not know its backlog, or when it does not shrink.
    """
    if len(recent) < _ENOUGH:
        return None
    backlog = _backlog([batch for _, batch in recent])
    if backlog is None:
        return None
    _, amounts = backlog
    if amounts[-1] == 0:
        return 0.0
    elapsed = (recent[-1][0] - recent[0][0]).total_seconds()
    shrunk = amounts[0] - amounts[-1]
    return round(amounts[-1] * elapsed / shrunk, 1) if shrunk > 0 and elapsed > 0 else None


def _backlog(batches: Sequence[BatchProgress]) -> tuple[str, list[int]] | None:
    """Returns the backlogs in the finest unit that all batches know."""
    for unit, amounts in (
        ("rows", [batch.backlog_records for batch in batches]),
        ("bytes", [batch.backlog_bytes for batch in batches]),
        ("files", [batch.backlog_files for batch in batches]),
    ):
        known = [amount for amount in amounts if amount is not None]
        if len(known) == len(batches):
            return unit, known
    return None
