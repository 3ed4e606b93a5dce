"""The newest batches of each flow over all updates, and what ran when: for checks that judge how a pipeline has run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Final

from penstock.events import BatchProgress, Event, EventType
from penstock.events.cluster import cluster_resources_of
from penstock.events.details import text
from penstock.events.flows.facts import FlowFact, FlowProjection, details_of, flow_key
from penstock.observe.definitions import DatasetDefinition, DefinitionProjection
from penstock.observe.flows.cluster_use import ClusterUse, ClusterUseProjection
from penstock.observe.flows.definitions import FlowDefinition, FlowDefinitionProjection
from penstock.observe.flows.throughput import WINDOW, falling_behind
from penstock.observe.status.pipeline_status import PipelineStatus, StatusProjection
from penstock.observe.status.updates import UpdateStatus

BATCHES: Final = 100
"""How many batches of a flow are kept."""

_ADD_BATCH: Final = "addBatch"


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch, when it was reported, in which update, and on how many executors; None of a local master."""

    at: datetime
    update_id: str
    progress: BatchProgress
    executors: int | None = None

    @property
    def overhead(self) -> float | None:
        """The share of its time, 0 to 1, in which it did something else than compute and write rows."""
        took, phases = self.progress.batch_duration_ms, self.progress.phases_ms
        if not took or _ADD_BATCH not in phases:
            return None
        return max(0.0, 1 - phases[_ADD_BATCH] / took)


@dataclass(frozen=True, slots=True)
class FlowHistory:
    """One flow that the newest update declares, and its newest batches (up to 100), oldest first."""

    definition: FlowDefinition
    batches: tuple[Batch, ...] = ()

    @property
    def name(self) -> str:
        """`schema.dataset`, with the flow's name where that is another."""
        dataset, flow = self.definition.dataset, self.definition.flow
        same = dataset.rpartition(".")[2].casefold() == flow.rpartition(".")[2].casefold()
        return dataset if same else f"{dataset}/{flow}"

    @property
    def with_rows(self) -> tuple[Batch, ...]:
        """The batches that read at least one row."""
        return tuple(each for each in self.batches if each.progress.num_input_rows)

    @property
    def falling_behind(self) -> str | None:
        """Why the flow does not keep up, as a sentence's end, or None."""
        newest = self.batches[-1].update_id if self.batches else None
        recent = [(each.at, each.progress) for each in self.batches if each.update_id == newest]
        return falling_behind(recent[-WINDOW:])

    def rates_by_executors(self) -> dict[int, float]:
        """Returns the median rate, in rows a second, that was measured with each number of executors."""
        rates: dict[int, list[float]] = {}
        for each in self.with_rows:
            if each.executors and each.progress.processed_rows_per_second:
                rates.setdefault(each.executors, []).append(each.progress.processed_rows_per_second)
        return {executors: median(found) for executors, found in sorted(rates.items())}


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """A sink of the newest update: its full name, format and place."""

    name: str
    format: str
    location: str | None


@dataclass(frozen=True, slots=True)
class PipelineHistory:
    """What a log says about how its pipeline is declared and has run.

    Attributes:
        status: of the newest update, and the sums over all.
        updates: newest first.
        flows: those that the newest update declares.
        datasets: by full name.
        sinks: those that were declared, by full name.
        maintained: when each table was last optimized and vacuumed, by full name in lower case.
        undelivered: the destinations of alerts whose newest message was not taken, and when that was.
        first_event_at: the time of the oldest event; None of an empty log.
        last_event_at: the time of the newest one.
        cluster: the executors of all runs.
    """

    status: PipelineStatus
    updates: tuple[UpdateStatus, ...] = ()
    flows: tuple[FlowHistory, ...] = ()
    datasets: dict[str, DatasetDefinition] = field(default_factory=dict)
    sinks: tuple[SinkDefinition, ...] = ()
    maintained: dict[str, datetime] = field(default_factory=dict)
    undelivered: dict[str, datetime] = field(default_factory=dict)
    first_event_at: datetime | None = None
    last_event_at: datetime | None = None
    cluster: ClusterUse = field(default_factory=ClusterUse)

    def longest_outage(self, now: datetime) -> timedelta | None:
        """Returns the longest time without any run, up to `now`; None before the first update."""
        ordered = sorted(self.updates, key=lambda each: each.started)
        if not ordered:
            return None
        gaps = [after.started - before.last_event_at for before, after in pairwise(ordered)]
        if ordered[-1].state.terminal:
            gaps.append(now - ordered[-1].last_event_at)
        return max(gaps, default=timedelta(0))

    def busy(self, update: UpdateStatus) -> tuple[float, float] | None:
        """Returns the seconds in which at least one batch with rows worked, and all seconds that are known of it.

        What is known begins with the oldest batch that is kept. None without a batch of this update.
        """
        spans = sorted(
            (each.at - timedelta(milliseconds=each.progress.batch_duration_ms or 0), each.at)
            for flow in self.flows
            for each in flow.with_rows
            if each.update_id == update.id
        )
        if not spans:
            return None
        full = [flow.batches[0].at for flow in self.flows if len(flow.batches) == BATCHES]
        began = max([update.started, *full])
        worked, reached = timedelta(0), began
        for start, end in spans:
            if end > reached:
                worked += end - max(start, reached)
                reached = end
        return worked.total_seconds(), (update.last_event_at - began).total_seconds()


class PipelineHistoryProjection(FlowProjection):
    """The history of a pipeline, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._status = StatusProjection()
        self._flows = FlowDefinitionProjection()
        self._datasets = DefinitionProjection()
        self._names: dict[str, None] = {}
        self._sinks: dict[str, SinkDefinition] = {}
        self._batches: dict[tuple[str, str], deque[Batch]] = {}
        self._executors: int | None = None
        self._cluster = ClusterUseProjection()
        self._maintained: dict[str, datetime] = {}
        self._undelivered: dict[str, datetime] = {}
        self._first: datetime | None = None
        self._last: datetime | None = None

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        self._first, self._last = self._first or event.timestamp, event.timestamp
        self._status.take(event, fact)
        self._flows.take(event, fact)
        self._datasets.apply(event)
        self._cluster.apply(event)
        match event.event_type:
            case EventType.CREATE_UPDATE:
                self._executors = None
            case EventType.CLUSTER_RESOURCES:
                resources = cluster_resources_of(event)
                self._executors = None if resources is None else resources.num_executors
            case EventType.DATASET_DEFINITION:
                self._names[str(details_of(event).get("dataset"))] = None
            case EventType.SINK_DEFINITION:
                details = details_of(event)
                name = str(details.get("dataset"))
                self._sinks[name] = SinkDefinition(name, str(details.get("format")), text(details, "location"))
            case EventType.MAINTENANCE_PROGRESS if event.error is None and event.origin.dataset_name:
                self._maintained[event.origin.dataset_name.casefold()] = event.timestamp
            case EventType.ALERT_DELIVERY:
                self._deliver(event, details_of(event))
        if fact is not None and fact.progress is not None:
            self._add(fact, fact.progress)

    def _deliver(self, event: Event, details: Any) -> None:
        destination = str(details.get("destination"))
        self._undelivered.pop(destination, None)
        if details.get("state") == "FAILED":
            self._undelivered[destination] = event.timestamp

    def _add(self, fact: FlowFact, progress: BatchProgress) -> None:
        batches = self._batches.setdefault(flow_key(fact.dataset, fact.flow), deque(maxlen=BATCHES))
        batches.append(Batch(fact.timestamp, fact.update_id, progress, self._executors))

    def history(self) -> PipelineHistory:
        """Returns the history as of the last event."""
        return PipelineHistory(
            status=self._status.status(),
            updates=self._status.history.updates(),
            flows=tuple(self._flow(each) for each in self._flows.declared()),
            datasets={name: self._datasets.of(name) for name in self._names},
            sinks=tuple(self._sinks.values()),
            maintained=dict(self._maintained),
            undelivered=dict(self._undelivered),
            first_event_at=self._first,
            last_event_at=self._last,
            cluster=self._cluster.use(),
        )

    def _flow(self, definition: FlowDefinition) -> FlowHistory:
        kept: Sequence[Batch] = self._batches.get(flow_key(definition.dataset, definition.flow), ())
        return FlowHistory(definition, tuple(kept))


def project_history(events: Iterable[Event]) -> PipelineHistory:
    """Returns the history of `events`, which are in the order of the log."""
    projection = PipelineHistoryProjection()
    for event in events:
        projection.apply(event)
    return projection.history()
