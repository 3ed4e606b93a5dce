"""How each flow behaved over time: one point a batch, for charts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from penstock.events.types import Event, EventType

CAPACITY = 2000
"""Batches that are kept of each flow; older ones stay in the log only."""


@dataclass(frozen=True, slots=True)
class BatchPoint:
    """One batch of one flow. Rates are rows per second; None where the log does not tell.

    `failed_records` counts expectation failures, so a row that breaks two rules counts twice.
    """

    sequence: int
    update_id: str
    timestamp: datetime
    batch_id: int | None
    input_rows: int | None
    output_rows: int | None
    input_rows_per_second: float | None
    processed_rows_per_second: float | None
    batch_duration_ms: float | None
    failed_records: int


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """The newest batches of one flow, oldest first."""

    dataset: str
    flow: str
    points: tuple[BatchPoint, ...]


class SeriesProjection:
    """The series of all flows, kept up to date event by event. Not thread-safe."""

    def __init__(self, *, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._points: dict[str, dict[str, deque[BatchPoint]]] = {}

    def apply(self, event: Event) -> None:
        """Takes one event into account; only the numbers of a batch change anything."""
        if event.event_type is not EventType.FLOW_PROGRESS or event.origin.dataset_name is None:
            return
        progress = event.details.get("flow_progress")
        metrics = progress.get("metrics") if isinstance(progress, Mapping) else None
        if not isinstance(progress, Mapping) or not isinstance(metrics, Mapping) or not metrics:
            return
        flows = self._points.setdefault(event.origin.dataset_name, {})
        flow = event.origin.flow_name or event.origin.dataset_name
        flows.setdefault(flow, deque(maxlen=self.capacity)).append(_point(event, metrics, progress.get("data_quality")))

    def of(self, dataset: str, *, after_sequence: int = -1) -> tuple[FlowSeries, ...]:
        """Returns the series of the flows into `dataset`, only points newer than `after_sequence`."""
        return tuple(
            FlowSeries(dataset, flow, tuple(_newer(points, after_sequence)))
            for flow, points in self._points.get(dataset, {}).items()
        )


def project_series(events: Iterable[Event], dataset: str) -> tuple[FlowSeries, ...]:
    """Returns the series of the flows into `dataset` (`schema.name`) that `events` tell."""
    projection = SeriesProjection()
    for event in events:
        projection.apply(event)
    return projection.of(dataset)


def _newer(points: deque[BatchPoint], after: int) -> Iterator[BatchPoint]:
    newest_first = takewhile(lambda point: point.sequence > after, reversed(points))
    return reversed(list(newest_first))


def _point(event: Event, metrics: Mapping[str, Any], quality: object) -> BatchPoint:
    expectations = quality.get("expectations") if isinstance(quality, Mapping) else None
    counts = [rule.get("failed_records") for rule in expectations or () if isinstance(rule, Mapping)]
    return BatchPoint(
        sequence=event.sequence,
        update_id=event.origin.update_id,
        timestamp=event.timestamp,
        batch_id=_integer(metrics.get("batch_id")),
        input_rows=_integer(metrics.get("num_input_rows")),
        output_rows=_integer(metrics.get("num_output_rows")),
        input_rows_per_second=_number(metrics.get("input_rows_per_second")),
        processed_rows_per_second=_number(metrics.get("processed_rows_per_second")),
        batch_duration_ms=_number(metrics.get("batch_duration_ms")),
        failed_records=sum(_integer(count) or 0 for count in counts),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
