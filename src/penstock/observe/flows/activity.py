"""What each flow did over all of the log, in a few kilobytes: when rows arrived, how long batches took, how runs began.

This is what `penstock cost` replays. It is a part of a log's totals, so that a million batches need not be read again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from penstock.events.details import total
from penstock.events.flows.compaction import Key, SummedProjection, totals_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.events.types import BatchProgress, Event, EventType, FlowStatus, UpdateState

PERIODS: Final = 2048
"""So many periods of arrivals are kept of a flow; when there are more, neighbours are merged."""

_ALL_PERIODS: Final = 40_000
_LEAST_PERIODS: Final = 64
_SAMPLES: Final = 25
SPARK_PARTITIONS: Final = 200
"""Spark's default."""

_SUMS: Final = ("batches", "rows", "busy_ms", "fold")
_TIMES: Final = ("first", "last", "window_start", "window_end", "previous_start")


@dataclass(slots=True)
class Period:
    """`rows` arrived evenly between `start` and `end`, seconds since 1970; they took `batches` batches."""

    start: float
    end: float
    rows: int
    batches: int


@dataclass(frozen=True, slots=True)
class BatchSample:
    """One measured batch; `first` of its flow in an update, which pays for what Spark loads and compiles once."""

    rows: int
    milliseconds: int
    first: bool


@dataclass(slots=True)
class FlowActivity:
    """What is known of one flow over all of the log.

    Attributes:
        batches, rows, busy_ms: of all batches; a repeated batch is busy again, its rows count once.
        periods: when the rows arrived, oldest first.
        fold: how many batches a period holds at least, once it is closed.
        samples: the newest batches of each size, by powers of two of their rows, and the first ones of updates apart.
        starts: seconds from the beginning of an update to the flow's first batch, of the newest updates; without those
            for which tables were set up, as later runs find them.
        ends: seconds from the flow's last batch to the end of the update, of the newest updates that completed.
        query_starts: seconds that the start of the flow's query took, of the newest updates: from STARTING to its first
            batch, or to RUNNING where the update goes on and a batch may wait for rows. Queries of such an update start
            together: what one takes until another is RUNNING is a part of that one's start.
        stops_seen: whether an update was seen that ends by itself. `starts`, `query_starts` and the first batches among
            `samples` are then of such updates only: in those that go on, all queries start at the same time, and slow
            each other down.
        state_operators: how many stateful operators its newest batch had.
        first, last: the start of the oldest batch and the end of the newest, seconds since 1970.
        replaces: whether each batch replaces all rows of the target, as a materialized view does.
    """

    dataset: str
    flow: str
    batches: int = 0
    rows: int = 0
    busy_ms: int = 0
    fold: int = 1
    periods: list[Period] = field(default_factory=list)
    samples: dict[tuple[bool, int], deque[BatchSample]] = field(default_factory=dict)
    starts: deque[float] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    query_starts: deque[float] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    stops_seen: bool = False
    state_operators: int = 0
    first: float | None = None
    last: float | None = None
    replaces: bool = False
    update_id: str = ""
    window_start: float | None = None
    window_end: float | None = None
    previous_start: float | None = None

    def all_samples(self) -> list[BatchSample]:
        """Returns the samples of all sizes."""
        return [sample for samples in self.samples.values() for sample in samples]

    def learns_start(self, *, stops: bool) -> bool:
        """Returns whether an update that `stops` by itself or goes on shows how runs start; see `stops_seen`."""
        if stops and not self.stops_seen:
            self.stops_seen = True
            self.starts.clear()
            self.query_starts.clear()
            self.samples = {key: samples for key, samples in self.samples.items() if not key[0]}
        return stops or not self.stops_seen

    def restart(self) -> None:
        """A full refresh reads again what had arrived long before: its batches say nothing about arrivals."""
        self.previous_start = self.window_start = self.window_end = None

    def add(self, fact: FlowFact, progress: BatchProgress, *, first: bool, stops: bool, most: int) -> None:
        """Takes a batch, the `first` of its update or not; the update `stops` by itself or goes on."""
        milliseconds = progress.batch_duration_ms or 0
        end = fact.timestamp.timestamp()
        start = end - milliseconds / 1000
        self.batches += 1
        self.busy_ms += milliseconds
        self.replaces = fact.replaces
        self.first = start if self.first is None else self.first
        self.last = end
        if milliseconds and (not first or self.learns_start(stops=stops)):
            size = progress.num_input_rows.bit_length()
            samples = self.samples.setdefault((first, size), deque(maxlen=_SAMPLES))
            samples.append(BatchSample(progress.num_input_rows, milliseconds, first))
        if first or not stops:
            self.window_start, self.window_end = self._window(start, progress, first=first), start
        self.previous_start = start if first or not stops else self.previous_start
        if fact.repeats:
            return
        self.rows += progress.num_input_rows
        self.state_operators = len(progress.state_operators)
        if self.window_start is not None and self.window_end is not None and progress.num_input_rows:
            self._arrive(Period(self.window_start, self.window_end, progress.num_input_rows, 1), most)

    def _window(self, start: float, progress: BatchProgress, *, first: bool) -> float | None:
        """Returns from when on the rows of a batch that started at `start` can have arrived, None if unknown.

        Spark's `inputRowsPerSecond` is the rows divided by the time since the trigger before, also an idle one. The
        first batch of an update reads what has come since the last time that the flow looked.
        """
        if not first and progress.input_rows_per_second:
            return start - progress.num_input_rows / progress.input_rows_per_second
        return self.previous_start

    def _arrive(self, period: Period, most: int) -> None:
        last = self.periods[-1] if self.periods else None
        if last is not None and (last.batches < self.fold or last.start == period.start):
            _merge(last, period)
            return
        self.periods.append(period)
        while len(self.periods) > most:
            self.fold *= 2
            halved = self.periods[::2]
            for into, period_after in zip(halved, self.periods[1::2], strict=False):
                _merge(into, period_after)
            self.periods = halved

    def totals(self) -> dict[str, Any]:
        """Returns all of it for a `compaction` event."""
        return {
            **{
                name: getattr(self, name) for name in (*_SUMS, "state_operators", "replaces", "update_id", "stops_seen")
            },
            **{name: getattr(self, name) for name in _TIMES},
            "names": [self.dataset, self.flow],
            "starts": list(self.starts),
            "ends": list(self.ends),
            "query_starts": list(self.query_starts),
            "samples": [[each.rows, each.milliseconds, int(each.first)] for each in self.all_samples()],
            # a text, which a reader that does not want it need not take apart
            "periods": json.dumps([[round(p.start, 3), round(p.end, 3), p.rows, p.batches] for p in self.periods]),
        }

    @classmethod
    def from_totals(cls, key: Key, totals: Mapping[str, Any]) -> FlowActivity:
        """Returns what `totals` wrote; a damaged part is as if it were not there."""
        names = totals.get("names")
        dataset, flow = names if isinstance(names, list) and len(names) == 2 else key
        known = cls(str(dataset), str(flow))
        for name in _SUMS:
            setattr(known, name, total(totals, name))
        known.fold = max(known.fold, 1)
        known.state_operators = total(totals, "state_operators")
        if partitions := total(totals, "partitions"):  # totals of 0.1.0
            known.state_operators = total(totals, "state_files") // partitions
        known.stops_seen = totals.get("stops_seen") is True
        known.replaces = totals.get("replaces") is True
        known.update_id = str(totals.get("update_id") or "")
        for name in _TIMES:
            setattr(known, name, _number(totals.get(name)))
        known.starts.extend(_numbers(totals.get("starts")))
        known.ends.extend(_numbers(totals.get("ends")))
        known.query_starts.extend(_numbers(totals.get("query_starts")))
        for rows, milliseconds, first in _tuples(totals.get("samples"), 3):
            sample = BatchSample(int(rows), int(milliseconds), bool(first))
            known.samples.setdefault((sample.first, sample.rows.bit_length()), deque(maxlen=_SAMPLES)).append(sample)
        try:
            periods = json.loads(totals.get("periods") or "[]")
        except (TypeError, ValueError):
            periods = []
        known.periods = [Period(start, end, int(rows), int(count)) for start, end, rows, count in _tuples(periods, 4)]
        return known


class ActivityProjection(SummedProjection):
    """The activity of all flows, kept up to date event by event. Not thread-safe."""

    PART = "activity"

    def __init__(self) -> None:
        super().__init__()
        self._flows: dict[Key, FlowActivity] = {}
        self._update_id = ""
        self._began: datetime | None = None
        self._stops = True
        self._setting_up: datetime | None = None
        self._set_up = timedelta()
        self._starting: dict[Key, datetime] = {}
        self._started: dict[Key, timedelta] = {}
        self._last_running: datetime | None = None

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        if event.event_type is EventType.CREATE_UPDATE:
            self._update_id, self._began = event.origin.update_id, event.timestamp
            self._stops = details_of(event).get("continuous") is not True
            self._setting_up, self._set_up, self._last_running = None, timedelta(), None
            self._starting.clear()
            self._started.clear()
        elif event.event_type is EventType.UPDATE_PROGRESS:
            self._progress(event)
        for key, totals in totals_of(event, self.PART):
            self._flows[key] = FlowActivity.from_totals(key, totals)
        if fact is None:
            return
        key = flow_key(fact.dataset, fact.flow)
        if fact.after_full_refresh:
            for other in (each for each in self._flows if each[0] == key[0]):
                self._flows[other].restart()
        if fact.progress is not None:
            self._batch(key, event, fact, fact.progress)
        elif fact.status is FlowStatus.STARTING:
            self._starting[key] = fact.timestamp
        elif fact.status is FlowStatus.RUNNING:
            self._start(key, fact.timestamp)

    def _batch(self, key: Key, event: Event, fact: FlowFact, progress: BatchProgress) -> None:
        activity = self._flows.get(key)
        if activity is None:
            activity = self._flows[key] = FlowActivity(fact.dataset, fact.flow)
        first = activity.update_id != fact.update_id
        if first:
            activity.update_id = fact.update_id
            began = fact.timestamp - timedelta(milliseconds=progress.batch_duration_ms or 0)
            starting, started = self._starting.pop(key, None), self._started.pop(key, None)
            if starting is not None and self._stops:
                started = began - starting
            learns = activity.learns_start(stops=self._stops)
            if learns and self._began is not None and fact.update_id == self._update_id:
                activity.starts.append(_seconds(began - self._began - self._set_up))
            if learns and started is not None:
                activity.query_starts.append(_seconds(started))
        most = min(PERIODS, max(_ALL_PERIODS // len(self._flows), _LEAST_PERIODS))
        activity.add(fact, progress, first=first, stops=self._stops, most=most)

    def _start(self, key: Key, running: datetime) -> None:
        """Takes a query that is RUNNING now: what it took since another one was, or since its own STARTING."""
        starting = self._starting.get(key)
        if starting is not None and key not in self._started:
            self._started[key] = running - max(starting, self._last_running or starting)
        self._last_running = running

    def _progress(self, event: Event) -> None:
        state = details_of(event).get("state")
        if state == UpdateState.SETTING_UP_TABLES.value and self._setting_up is None:
            self._setting_up = event.timestamp
        elif state == UpdateState.RUNNING.value and self._setting_up is not None:
            self._set_up, self._setting_up = event.timestamp - self._setting_up, None
        elif state == UpdateState.COMPLETED.value:
            self._end(event)

    def _end(self, event: Event) -> None:
        for activity in self._flows.values():
            if activity.update_id == event.origin.update_id and activity.last is not None:
                activity.ends.append(round(max(event.timestamp.timestamp() - activity.last, 0.0), 3))

    def totals(self) -> dict[Key, dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""
        return {key: activity.totals() for key, activity in self._flows.items()}

    def flows(self) -> tuple[FlowActivity, ...]:
        """Returns all flows that had a batch, in the order of their first one."""
        return tuple(self._flows.values())


def _merge(into: Period, other: Period) -> None:
    into.start, into.end = min(into.start, other.start), max(into.end, other.end)
    into.rows += other.rows
    into.batches += other.batches


def _seconds(passed: timedelta) -> float:
    return round(max(passed.total_seconds(), 0.0), 3)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _numbers(values: object) -> list[float]:
    numbers = (_number(value) for value in values) if isinstance(values, list) else ()
    return [number for number in numbers if number is not None]


def _tuples(values: object, length: int) -> Iterable[list[float]]:
    for value in values if isinstance(values, list) else ():
        numbers = _numbers(value)
        if len(numbers) == length:
            yield numbers
