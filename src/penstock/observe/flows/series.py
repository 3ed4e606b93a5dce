"""How each flow behaved over time: one point a batch, for charts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from penstock.events.flows.facts import FlowFact, FlowProjection, flow_key
from penstock.events.types import BatchProgress, Event

CAPACITY: Final = 2000
"""Batches that are kept of each flow; older ones stay in the log only."""

TOTAL: Final = 100_000
"""Batches that are kept of all flows together: with many flows, each keeps fewer than CAPACITY."""

_LEAST: Final = 100

PHASES: Final = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitOffsets")
"""The parts of a batch's time that Spark reports, in the order in which they happen."""

FIGURES: Final = (
    "batch_id",
    "input_rows",
    "output_rows",
    "input_rows_per_second",
    "processed_rows_per_second",
    "batch_duration_ms",
    *(f"{phase}_ms" for phase in PHASES),
    "backlog_rows",
    "backlog_files",
    "backlog_bytes",
    "state_rows",
    "state_bytes",
    "watermark_behind_s",
    "late_rows",
    "dropped_rows",
    "quarantined_rows",
    "failed_records",
)
"""What is known of each batch.

`watermark_behind_s` is the batch's time minus the watermark, in seconds; `failed_records` counts broken rules, so a row
that breaks two counts twice.
"""


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """The newest batches of one flow, oldest first, as columns; a figure is None where the log does not have it.

    `timestamps` are seconds since 1970, `updates` the ids of the updates that made the batches, `figures` one list for
    each of FIGURES.
    """

    dataset: str
    flow: str
    sequences: tuple[int, ...]
    timestamps: tuple[float, ...]
    updates: tuple[str, ...]
    figures: Mapping[str, tuple[float | None, ...]]

    def __len__(self) -> int:
        return len(self.sequences)


def _columns() -> dict[str, array[float]]:
    return {figure: array("d") for figure in FIGURES}


@dataclass(slots=True)
class _Columns:
    """One flow's batches in plain numbers, which take a tenth of the memory of objects."""

    dataset: str
    flow: str
    sequences: array[int] = field(default_factory=lambda: array("q"))
    timestamps: array[float] = field(default_factory=lambda: array("d"))
    updates: list[str] = field(default_factory=list)
    figures: dict[str, array[float]] = field(default_factory=_columns)

    def add(self, event: Event, progress: BatchProgress) -> None:
        self.sequences.append(event.sequence)
        self.timestamps.append(event.timestamp.timestamp())
        self.updates.append(event.origin.update_id)
        values = _figures(event, progress)
        for figure, column in self.figures.items():
            value = values[figure]
            column.append(math.nan if value is None else value)

    def keep(self, newest: int) -> None:
        if len(self.sequences) <= newest + newest // 4:  # now and then, because taking from the front moves the rest
            return
        surplus = len(self.sequences) - newest
        for column in (self.sequences, self.timestamps, self.updates, *self.figures.values()):
            del column[:surplus]  # type: ignore[attr-defined]

    def series(self, after_sequence: int, capacity: int) -> FlowSeries:
        start = max(len(self.sequences) - capacity, 0)
        while start < len(self.sequences) and self.sequences[start] <= after_sequence:
            start += 1
        return FlowSeries(
            self.dataset,
            self.flow,
            tuple(self.sequences[start:]),
            tuple(self.timestamps[start:]),
            tuple(self.updates[start:]),
            {
                figure: tuple(None if math.isnan(value) else value for value in column[start:])
                for figure, column in self.figures.items()
            },
        )


class SeriesProjection(FlowProjection):
    """The series of all flows, kept up to date event by event. Not thread-safe."""

    def __init__(self, *, capacity: int = CAPACITY, total: int = TOTAL) -> None:
        super().__init__()
        self._capacity = capacity
        self._total = total
        self._flows: dict[str, dict[str, _Columns]] = {}
        self._count = 0

    @property
    def capacity(self) -> int:
        """How many batches of each flow are kept at present."""
        return min(self._capacity, max(self._total // max(self._count, 1), _LEAST))

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        if fact is None or fact.progress is None:
            return
        dataset, flow = flow_key(fact.dataset, fact.flow)
        flows = self._flows.setdefault(dataset, {})
        if flow not in flows:
            flows[flow] = _Columns(fact.dataset, fact.flow)
            self._count += 1
        flows[flow].add(event, fact.progress)
        flows[flow].keep(self.capacity)

    def of(self, dataset: str, *, flow: str | None = None, after_sequence: int = -1) -> tuple[FlowSeries, ...]:
        """Returns the series of the flows into `dataset`, or of one, only batches newer than `after_sequence`."""
        return tuple(
            columns.series(after_sequence, self.capacity)
            for name, columns in self._flows.get(dataset.casefold(), {}).items()
            if flow is None or name == flow.casefold()
        )


def _figures(event: Event, progress: BatchProgress) -> dict[str, float | None]:
    return {
        "batch_id": progress.batch_id,
        "input_rows": progress.num_input_rows,
        "output_rows": progress.num_output_rows,
        "input_rows_per_second": progress.input_rows_per_second,
        "processed_rows_per_second": progress.processed_rows_per_second,
        "batch_duration_ms": progress.batch_duration_ms,
        **{f"{phase}_ms": progress.phases_ms.get(phase) for phase in PHASES},
        "backlog_rows": progress.backlog_records,
        "backlog_files": progress.backlog_files,
        "backlog_bytes": progress.backlog_bytes,
        "state_rows": progress.state_rows,
        "state_bytes": progress.state_bytes,
        "watermark_behind_s": _behind(event.timestamp, progress.watermark),
        "late_rows": progress.late_rows,
        "dropped_rows": progress.dropped_records,
        "quarantined_rows": progress.quarantined_records,
        "failed_records": sum(count.failed_records for count in progress.expectations),
    }


def _behind(timestamp: datetime, watermark: str | None) -> float | None:
    """Seconds from the watermark to the batch; None before the watermark has moved from 1970, where Spark begins."""
    if watermark is None:
        return None
    try:
        moment = datetime.fromisoformat(watermark)
    except ValueError:
        return None
    if moment.tzinfo is None or moment.year <= 1970:
        return None
    return (timestamp - moment).total_seconds()
