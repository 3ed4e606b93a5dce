"""Logs of a pipeline of three tables over days, in which arrivals and batch times follow known formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.recorded.build import SteppedClock

from penstock.events import BatchProgress, EventLog, EventType, FlowStatus, UpdateState, builders

BEGINNING: Final = datetime(2026, 3, 2, tzinfo=UTC)
SESSION_START: Final = 20.0
QUERY_START: Final = 1.5
STOP: Final = 4.0


@dataclass(frozen=True, slots=True)
class RecordedFlow:
    """A batch of it takes `fixed` seconds and `per_row` for each row, `warm_up` more in a new session."""

    table: str
    reads: str | None
    fixed: float
    per_row: float
    share: float
    warm_up: float = 3.0

    def seconds(self, rows: int, *, first: bool = False) -> float:
        return self.fixed + self.per_row * rows + (self.warm_up if first else 0.0)


FLOWS: Final = (
    RecordedFlow("shop.bronze_orders", None, 0.8, 0.00002, 1.0),
    RecordedFlow("shop.silver_orders", "shop.bronze_orders", 1.2, 0.00004, 0.95),
    RecordedFlow("shop.hourly_revenue", "shop.silver_orders", 2.0, 0.00001, 0.95),
)


def rate(second: float, *, mean: float = 40.0) -> float:
    """Rows a second at a second of the day: four times as many in the afternoon as at night."""
    return mean * (1 - 0.6 * math.cos(2 * math.pi * (second - 3 * 3600) / 86_400))


def rows_between(start: float, end: float, *, mean: float = 40.0) -> int:
    """The rows that arrive between two seconds since the beginning."""

    def until(second: float) -> float:
        turns = 2 * math.pi / 86_400
        return mean * (second - 0.6 / turns * math.sin(turns * (second - 3 * 3600)))

    return round(until(end)) - round(until(start))


class DaysRecorder:
    """Writes updates of the pipeline to a storage, at the times of a schedule."""

    def __init__(self, storage: str, *, mean: float = 40.0) -> None:
        self._storage = storage
        self._mean = mean
        self._clock = SteppedClock(BEGINNING)
        self._log: EventLog
        self._batch = dict.fromkeys((flow.table for flow in FLOWS), -1)
        self._read = 0.0
        self.busy = dict.fromkeys((flow.table for flow in FLOWS), 0.0)

    def always_on(self, seconds: float, *, trigger: float) -> None:
        """One update that goes on for `seconds`, with a batch of each flow at every trigger."""
        self._open(f"always-on-{self._clock.moment:%j-%H-%M-%S}", continuous=True)
        start = self._now()
        before = start
        for number in range(1, int(seconds / trigger)):
            tick = start + SESSION_START + (number - 1) * trigger
            rows = rows_between(before, tick, mean=self._mean)
            if number == 1:
                self._start_together(tick)
            self._batches(tick, rows, tick - before, first=number == 1)
            before = tick
        self._close(UpdateState.CANCELED)

    def available_now(self, runs: int, *, every: float) -> None:
        """Updates that process what is there and end, one at each interval."""
        for number in range(1, runs + 1):
            self._clock.moment = BEGINNING + timedelta(seconds=number * every)
            self._open(f"run-{number}", continuous=False)
            self._clock.step(SESSION_START)
            now = self._now()
            self._batches(now, rows_between(self._read, now, mean=self._mean), None, first=True, starts=True)
            self._read = now
            self._clock.step(STOP)
            self._close(UpdateState.COMPLETED)

    def _now(self) -> float:
        return (self._clock.moment - BEGINNING).total_seconds()

    def _open(self, update_id: str, *, continuous: bool) -> None:
        self._log = EventLog.open(self._storage, pipeline_name="shop", update_id=update_id, clock=self._clock)
        created = builders.create_update(pipeline="shop", cause="USER_ACTION", version="1", continuous=continuous)
        self._log.append(EventType.CREATE_UPDATE, *created)
        for flow in FLOWS:
            defined = builders.dataset_definition(flow.table, dataset_type="STREAMING_TABLE")
            self._log.append(EventType.DATASET_DEFINITION, *defined, dataset=flow.table)
            definition = builders.flow_definition(
                _name(flow),
                output_dataset=flow.table,
                flow_type="append",
                input_datasets=[flow.reads] if flow.reads else [],
                sources=[] if flow.reads else [("kafka", "orders", None)],
            )
            self._log.append(EventType.FLOW_DEFINITION, *definition, dataset=flow.table, flow=_name(flow))
        self._log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="shop"))

    def _close(self, state: UpdateState) -> None:
        self._log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(state, pipeline="shop"))
        self._log.close()

    def _start_together(self, ready: float) -> None:
        """All queries start at once, and are RUNNING one after the other, the last one when all are `ready`."""
        for flow in FLOWS:
            self._status(flow, FlowStatus.STARTING, ready - len(FLOWS) * QUERY_START)
        for number, flow in enumerate(FLOWS, 1):
            self._status(flow, FlowStatus.RUNNING, ready - (len(FLOWS) - number) * QUERY_START)

    def _status(self, flow: RecordedFlow, status: FlowStatus, second: float) -> None:
        self._clock.moment = BEGINNING + timedelta(seconds=second)
        built = builders.flow_status(_name(flow), status)
        self._log.append(EventType.FLOW_PROGRESS, *built, dataset=flow.table, flow=_name(flow))

    def _batches(self, start: float, rows: int, since: float | None, *, first: bool, starts: bool = False) -> None:
        """A batch of each flow, each after the one whose table it reads; it `starts` its query before."""
        for flow in FLOWS:
            if starts:
                start += QUERY_START if flow.reads else 0.0
                self._status(flow, FlowStatus.STARTING, start - QUERY_START)
                self._status(flow, FlowStatus.RUNNING, start - QUERY_START / 3)
            read = round(rows * flow.share)
            seconds = flow.seconds(read, first=first)
            self.busy[flow.table] += seconds
            start += seconds
            self._clock.moment = BEGINNING + timedelta(seconds=start)
            self._batch[flow.table] += 1
            progress = BatchProgress(
                self._batch[flow.table],
                read,
                read,
                input_rows_per_second=None if since is None or first else read / since,
                batch_duration_ms=round(1000 * seconds),
            )
            built = builders.flow_batch(_name(flow), progress, status=FlowStatus.RUNNING)
            self._log.append(EventType.FLOW_PROGRESS, *built, dataset=flow.table, flow=_name(flow))


def _name(flow: RecordedFlow) -> str:
    return flow.table.partition(".")[2]
