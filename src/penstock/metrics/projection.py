"""The values of all metrics of the newest update, from its events."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from penstock.events import (
    BatchProgress,
    ClusterResources,
    ClusterState,
    Event,
    EventType,
    FlowStatus,
    UpdateState,
    WatermarkState,
    cluster_resources_of,
    verdict_of,
    watermark_state_of,
)
from penstock.events.flows.facts import FlowFact, FlowFacts, details_of, flow_key
from penstock.metrics import definitions as metrics
from penstock.metrics.definitions import BATCH_SECONDS, Metric
from penstock.observe.flows.throughput import WINDOW, falling_behind

_RATES: Final = {metrics.INPUT_RATE, metrics.PROCESSED_RATE, metrics.FALLING_BEHIND}
"""What the newest batch no longer says of a flow when no task can run."""

Sample = tuple[Metric, Mapping[str, str], float]
"""A metric, its labels by name, and its value."""


@dataclass(slots=True)
class Durations:
    """How many batches took how long: by the upper bounds of `BATCH_SECONDS`, the last one for all that took longer."""

    labels: Mapping[str, str]
    counts: list[int] = field(default_factory=lambda: [0] * (len(BATCH_SECONDS) + 1))
    sum: float = 0.0

    def add(self, seconds: float) -> None:
        """Takes one batch into account."""
        self.counts[bisect_left(BATCH_SECONDS, seconds)] += 1
        self.sum += seconds


@dataclass(slots=True)
class _Flow:
    """What is known of one flow in this update."""

    labels: dict[str, str]
    durations: Durations
    status: FlowStatus | None = None
    counters: dict[Metric, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    checks: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    recent: deque[tuple[datetime, BatchProgress]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    stalled: bool = False

    def count(self, metric: Metric, number: int = 1) -> None:
        self.counters[metric] = self.counters.get(metric, 0) + number


class MetricsProjection:
    """Kept up to date event by event, and read from any thread. A new update resets all counters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts = FlowFacts()
        self._update_id: str | None = None
        self._begin("", None)

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        if not event.event_type.of_its_update:
            return
        with self._lock:
            if event.origin.update_id != self._update_id:
                self._update_id = event.origin.update_id
                self._begin(event.origin.pipeline_name, event.timestamp)
            self._apply(event)

    def samples(self) -> list[Sample]:
        """Returns the values of all metrics but durations; what is not known has none."""
        with self._lock:
            return list(self._samples())

    def durations(self) -> list[Durations]:
        """Returns how long the batches of each flow took."""
        with self._lock:
            flows = [flow.durations for flow in self._flows.values() if any(flow.durations.counts)]
            return [Durations(each.labels, list(each.counts), each.sum) for each in flows]

    def _begin(self, pipeline: str, started: datetime | None) -> None:
        self._pipeline = pipeline
        self._started = started
        self._state = UpdateState.WAITING_FOR_RESOURCES
        self._continuous = False
        self._cluster: ClusterResources | None = None
        self._flows: dict[tuple[str, str], _Flow] = {}

    def _apply(self, event: Event) -> None:
        fact = self._facts.apply(event)
        if event.event_type is EventType.CREATE_UPDATE:
            self._continuous = details_of(event).get("continuous") is True
        if event.event_type is EventType.UPDATE_PROGRESS:
            known = {state.value: state for state in UpdateState}
            self._state = known.get(str(details_of(event).get("state")), self._state)
            if self._state.terminal:
                self._cluster = None
        self._cluster = cluster_resources_of(event) or self._cluster
        if fact is not None:
            self._progress(self._flow(fact.dataset, fact.flow), fact)
        dataset = event.origin.dataset_name
        if dataset is None:
            return
        flow = event.origin.flow_name or dataset
        if (verdict := verdict_of(event)) is not None:
            verdicts = self._flow(dataset, flow).verdicts
            verdicts[verdict.value] = verdicts.get(verdict.value, 0) + 1
        if (state := watermark_state_of(event)) is not None:
            self._flow(dataset, flow).stalled = state is not WatermarkState.MOVING

    def _progress(self, flow: _Flow, fact: FlowFact) -> None:
        flow.status = fact.status or flow.status
        if fact.progress is None:
            flow.count(metrics.FAILURES, int(fact.status is FlowStatus.FAILED))
            flow.count(metrics.RETRIES, int(fact.status is FlowStatus.RETRYING))
            return
        batch = fact.progress
        flow.recent.append((fact.timestamp, batch))
        if batch.batch_duration_ms is not None:
            flow.durations.add(batch.batch_duration_ms / 1000)
        if fact.repeats:
            return  # its rows have been counted
        flow.count(metrics.BATCHES)
        flow.count(metrics.INPUT, batch.num_input_rows)
        flow.count(metrics.OUTPUT, batch.num_output_rows)
        flow.count(metrics.DROPPED, batch.dropped_records)
        flow.count(metrics.QUARANTINED, batch.quarantined_records)
        flow.count(metrics.LATE, batch.late_rows or 0)
        for check in batch.expectations:
            counts = flow.checks.setdefault((check.dataset, check.name, check.action), [0, 0])
            counts[0] += check.passed_records
            counts[1] += check.failed_records

    def _flow(self, dataset: str, name: str) -> _Flow:
        labels = {"pipeline": self._pipeline, "dataset": dataset, "flow": name}
        return self._flows.setdefault(flow_key(dataset, name), _Flow(labels, Durations(labels)))

    def _samples(self) -> Iterator[Sample]:
        if self._started is None:
            return
        whole = {"pipeline": self._pipeline}
        yield metrics.UPDATE_START, whole, self._started.timestamp()
        yield metrics.UPDATE_CONTINUOUS, whole, float(self._continuous)
        for state in UpdateState:
            yield metrics.UPDATE_STATE, {**whole, "state": state.value}, float(state is self._state)
        if self._cluster is not None:
            yield metrics.EXECUTORS, whole, float(self._cluster.num_executors)
            yield metrics.MASTER_LOST, whole, float(self._cluster.state is ClusterState.MASTER_LOST)
        for flow in self._flows.values():
            for status in FlowStatus:
                yield metrics.STATUS, {**flow.labels, "status": status.value}, float(status is flow.status)
            for metric, number in flow.counters.items():
                yield metric, flow.labels, number
            for verdict, number in flow.verdicts.items():
                yield metrics.ACCOUNTS, {**flow.labels, "verdict": verdict}, number
            for (dataset, name, action), (passed, failed) in flow.checks.items():
                labels = {**flow.labels, "dataset": dataset, "expectation": name, "action": action}
                yield metrics.PASSED, labels, passed
                yield metrics.FAILED, labels, failed
            yield metrics.WATERMARK_STALLED, flow.labels, float(flow.stalled)
            if flow.recent:
                stalled = self._cluster is not None and self._cluster.stalled
                yield from (each for each in _newest(flow) if not (stalled and each[0] in _RATES))


def _newest(flow: _Flow) -> Iterator[Sample]:
    moment, batch = flow.recent[-1]
    yield metrics.LAST_BATCH, flow.labels, moment.timestamp()
    yield metrics.FALLING_BEHIND, flow.labels, float(falling_behind(flow.recent) is not None)
    for phase, milliseconds in batch.phases_ms.items():
        yield metrics.PHASE, {**flow.labels, "phase": phase}, milliseconds / 1000
    for metric, value in (
        (metrics.INPUT_RATE, batch.input_rows_per_second),
        (metrics.PROCESSED_RATE, batch.processed_rows_per_second),
        (metrics.BACKLOG_ROWS, batch.backlog_records),
        (metrics.BACKLOG_FILES, batch.backlog_files),
        (metrics.BACKLOG_BYTES, batch.backlog_bytes),
        (metrics.STATE_ROWS, batch.state_rows),
        (metrics.STATE_BYTES, batch.state_bytes),
        (metrics.WATERMARK, _seconds(batch.watermark)),
    ):
        if value is not None:
            yield metric, flow.labels, value


def _seconds(moment: str | None) -> float | None:
    try:
        return None if moment is None else datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
