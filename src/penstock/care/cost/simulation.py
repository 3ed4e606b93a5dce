"""Replays the recorded arrivals through a schedule, batch by batch. Pure: nothing is read, nothing depends on a clock.

The model, all times in seconds:

- A source has the rows that have arrived until the start of a batch. A flow that reads other tables has what their
  batches have committed.
- A batch takes the time of `BatchTime`. What it has read can be seen when it ends.
- Always on: each flow starts a batch at the next multiple of the trigger's interval at which it has a row, at once
  when the batch before took longer (Spark's ProcessingTimeExecutor). Flows run beside each other.
- AvailableNow: every interval the cluster starts, then the session with the first queries; each flow processes in one
  batch what was there when the session was ready. A flow that reads tables starts its query when the flows of these
  have ended, new rows or not. The cluster is paid from its start until the end of the last flow and of the update. A
  run that is not over when the next is due makes that one wait for the interval after.
- An interruption of a spot machine stops the batches that run: each waits for another machine, and begins again.
- The freshness of a row is the time from its arrival to the end of the batch that had it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.batch_time import BatchTime
from penstock.care.cost.schedules import Schedule

_VIEW_INTERVAL: Final = 60.0
"""A materialized view of a run that goes on is computed once a minute at most."""

_RESTARTS: Final = 20
_AGES: Final = 4_000
"""So many ages of rows are looked at for the percentiles of a flow."""

_AGES_OF_BATCH: Final = 20
_GOLDEN: Final = 0.6180339887
_HAIR: Final = 1e-6
_HAIR_OF_ROW: Final = 0.01


@dataclass(frozen=True, slots=True)
class SimulatedFlow:
    """A flow: when its rows arrived, how long a batch takes, and by number the flows whose tables it reads.

    A `view` recomputes its whole table in each batch, in a time that does not depend on the new rows. `query_start` is
    how long the start of the query takes.
    """

    arrivals: Arrivals
    time: BatchTime
    inputs: tuple[int, ...] = ()
    view: bool = False
    query_start: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch from `start` to `end`, with the rows that the flow's sum counts from `before` to `after`.

    `oldest` is when the first of them arrived: until then, everything had been processed.
    """

    start: float
    end: float
    before: int
    after: int
    oldest: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run needs besides its batches.

    `cluster_start` and `session_start` pass before the first batch, `stop` after the last one. `run_time` is how long a
    run takes, from the cluster's start to its stop, in place of all that was measured. `interruptions` are the times
    when a machine is taken back, sorted; `recovery` passes until there is another.
    """

    cluster_start: float = 0.0
    session_start: float = 0.0
    stop: float = 0.0
    run_time: float | None = None
    interruptions: Sequence[float] = ()
    recovery: float = 0.0

    def end(self, start: float, duration: float) -> float:
        """Returns when a batch ends that begins at `start` and begins again after each interruption."""
        end = start + duration
        for _ in range(_RESTARTS if self.interruptions else 0):
            at = bisect_left(self.interruptions, start)
            if at == len(self.interruptions) or self.interruptions[at] >= end:
                break
            start = self.interruptions[at] + self.recovery
            end = start + duration
        return end


@dataclass(slots=True)
class Simulation:
    """What has happened: the batches of each flow, and from when until when the cluster was on.

    `seconds` is the time that the runs stand for, each with the pause until the next one can start.
    """

    batches: list[list[Batch]]
    runs: list[tuple[float, float]] = field(default_factory=list)
    seconds: float = 0.0

    def busy(self, flow: int) -> float:
        """Returns the seconds that the flow's batches took."""
        return sum(batch.end - batch.start for batch in self.batches[flow])


def interruption_times(rate_per_hour: float, begin: float, end: float) -> list[float]:
    """Returns when machines are taken back: a Poisson process, the same at each call (a seed is fixed)."""
    times: list[float] = []
    random = Random(0)  # noqa: S311 - a model, not a secret
    moment = begin
    while rate_per_hour > 0 and (moment := moment + random.expovariate(rate_per_hour / 3600)) < end:
        times.append(moment)
    return times


def simulate(
    flows: Sequence[SimulatedFlow], schedule: Schedule, begin: float, end: float, surroundings: Surroundings
) -> Simulation:
    """Replays what arrived from `begin` to `end`; `flows` come after the flows whose tables they read."""
    if not schedule.always_on:
        return _runs(flows, schedule.interval, begin, end, surroundings)
    batches: list[list[Batch]] = []
    for flow in flows:
        inputs = [batches[number] for number in flow.inputs]
        interval = max(schedule.interval, _VIEW_INTERVAL) if flow.view else schedule.interval
        batches.append(list(_stream(flow, inputs, interval, (begin, end), surroundings)))
    return Simulation(batches, [(begin, end)], end - begin)


def _stream(
    flow: SimulatedFlow,
    inputs: Sequence[Sequence[Batch]],
    interval: float,
    span: tuple[float, float],
    surroundings: Surroundings,
) -> Iterable[Batch]:
    """Yields the batches of a flow that is always on; the last one may end after `end`."""
    arrivals, (begin, end) = flow.arrivals, span
    before = math.floor(arrivals.until(begin) + _HAIR)
    commits = [[batch.end for batch in batches] for batches in inputs]
    free = begin
    while True:
        oldest = arrivals.time_of(before + 1)
        if oldest is None or oldest >= end:
            return
        start = _due(max(free, oldest), interval, begin)
        missing = _missing(start, inputs, commits)
        if missing is None or missing > min(start, end):
            after = math.floor(arrivals.until(min(start, end)) + _HAIR)
        else:
            after = math.floor(arrivals.until(missing) - _HAIR_OF_ROW)
        if not inputs:
            after = max(after, before + 1)  # at its own time, a row has arrived, whatever fractions of rows say
        if after <= before:
            waits = (times[at] for times in commits if (at := bisect_right(times, start)) < len(times))
            following = min(waits, default=None)
            if following is None:
                return
            free = following
            continue
        free = surroundings.end(start, flow.time.seconds(0 if flow.view else after - before))
        yield Batch(start, free, before, after, oldest)
        before = after


def _due(moment: float, interval: float, begin: float) -> float:
    if not interval:
        return moment
    return begin + math.ceil((moment - begin) / interval - _HAIR) * interval


def _missing(moment: float, inputs: Sequence[Sequence[Batch]], commits: Sequence[Sequence[float]]) -> float | None:
    """Returns when the oldest row arrived that is not in the tables that a flow reads at `moment`."""
    missing: float | None = None
    for batches, times in zip(inputs, commits, strict=True):
        at = bisect_right(times, moment)
        if at < len(batches) and (missing is None or batches[at].oldest < missing):
            missing = batches[at].oldest
    return missing


def _runs(
    flows: Sequence[SimulatedFlow], interval: float, begin: float, end: float, surroundings: Surroundings
) -> Simulation:
    simulation = Simulation([[] for _ in flows])
    before = [math.floor(flow.arrivals.until(begin) + _HAIR) for flow in flows]
    due = 1
    while (start := begin + due * interval) <= end + _HAIR:
        ready = start + surroundings.cluster_start + surroundings.session_start
        seen = min(start if surroundings.run_time is not None else ready, end)
        stops: list[float] = []
        for number, flow in enumerate(flows):
            after = math.floor(flow.arrivals.until(seen) + _HAIR)
            begins = max(stops[each] for each in flow.inputs) + flow.query_start if flow.inputs else ready
            stop = begins
            always = flow.view and not flow.arrivals.times  # of a source whose changes are not known
            if after > before[number] or always:
                seconds = flow.time.seconds(0 if flow.view else after - before[number]) + flow.time.warm_up
                stop = surroundings.end(begins, seconds)
                if surroundings.run_time is not None:
                    begins, stop = start, surroundings.end(start, surroundings.run_time)
                oldest = flow.arrivals.time_of(before[number] + 1) or seen
                simulation.batches[number].append(Batch(begins, stop, before[number], after, oldest))
                before[number] = after
            stops.append(stop)
        finish = max(stops, default=ready) + surroundings.stop
        if surroundings.run_time is not None:
            finish = surroundings.end(start, surroundings.run_time)
        simulation.runs.append((start, finish))
        due = max(due + 1, math.ceil((finish - begin) / interval - _HAIR))
    simulation.seconds = (due - 1) * interval
    return simulation


def freshness(arrivals: Arrivals, batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Returns how old rows were when they could be seen, as (seconds, weight).

    Of many batches, some are looked at, and one row of each; of few, several rows each, evenly. Where the row is in its
    batch follows the golden ratio, so that all places come equally often.
    """
    ages: list[tuple[float, float]] = []
    chosen = batches[:: len(batches) // _AGES + 1]
    points = min(max(_AGES // max(len(chosen), 1), 1), _AGES_OF_BATCH)
    for number, batch in enumerate(chosen):
        rows = batch.after - batch.before
        offset = number * _GOLDEN % 1 if points == 1 else 0.5
        for point in range(points if rows else 0):
            arrived = arrivals.time_of(batch.before + (point + offset) / points * rows)
            if arrived is not None:
                ages.append((max(batch.end - arrived, 0.0), rows / points))
    return ages


def percentiles(values: Iterable[tuple[float, float]], shares: Sequence[float]) -> list[float | None]:
    """Returns for each share the value below which it of the weights of (value, weight) lies, None of nothing.

    Each value stands for the middle of its weight; between two of them it is interpolated. `shares` ascend.
    """
    ordered = sorted(values)
    whole = sum(weight for _, weight in ordered)
    found: list[float | None] = []
    below, value_before, middle_before = 0.0, ordered[0][0] if ordered else 0.0, 0.0
    for value, weight in ordered:
        middle = below + weight / 2
        while len(found) < len(shares) and middle >= (wanted := shares[len(found)] * whole):
            part = (wanted - middle_before) / (middle - middle_before)
            found.append(value_before + max(part, 0.0) * (value - value_before))
        below, value_before, middle_before = below + weight, value, middle
    last = ordered[-1][0] if ordered else None
    return found + [last] * (len(shares) - len(found))
