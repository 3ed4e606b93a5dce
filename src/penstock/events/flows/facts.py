"""What the log says about flows, batch by batch, and which of it counts.

A crash between a table's commit and its checkpoint's makes Spark run a batch again under the same
number; a full refresh rebuilds a table from scratch; a complete flow or a materialized view replaces its rows
with each batch. Every projection that adds up batches must know all three, so it asks here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from penstock.events.flows.progress import batch_progress_of, flow_status_of, retry_at_of
from penstock.events.types import BatchProgress, Event, EventType, FlowStatus
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import names_of_recorded

_REPLACING: Final = {FlowType.COMPLETE.value, FlowType.MATERIALIZED_VIEW.value}
_BEGINS: Final = {FlowStatus.STARTING, FlowStatus.RUNNING}


@dataclass(frozen=True, slots=True)
class FlowFact:
    """One `flow_progress` event, understood.

    Attributes:
        dataset: full name of the flow's target, as the log spells it.
        flow: the flow's name.
        status: the flow's state, None when the log has a state that this version does not know.
        retry_at: when a RETRYING flow is tried again.
        progress: the batch's numbers, None on a mere transition.
        replaces: the batch replaced all rows of the target.
        repeats: the batch is the flow's previous one again; its numbers take that one's place.
        after_full_refresh: a full refresh emptied the target just before; earlier numbers are void.
    """

    dataset: str
    flow: str
    update_id: str
    timestamp: datetime
    status: FlowStatus | None
    retry_at: datetime | None
    progress: BatchProgress | None
    replaces: bool
    repeats: bool
    after_full_refresh: bool


@dataclass(slots=True)
class FlowFacts:
    """Turns events, applied in the order of the log, into facts. Not thread-safe."""

    _materialized: set[str] = field(default_factory=set)
    _replacing: set[tuple[str, str]] = field(default_factory=set)
    _last_batch: dict[tuple[str, str], int] = field(default_factory=dict)
    _refreshing: str | None = None
    _refreshes_all: bool = False
    _refreshed: set[str] = field(default_factory=set)
    _begun: set[str] = field(default_factory=set)

    def apply(self, event: Event) -> FlowFact | None:
        """Takes one event into account and returns its fact if it is about a flow's progress."""
        match event.event_type:
            case EventType.CREATE_UPDATE:
                self._new_update(event.origin.update_id, details_of(event).get("full_refresh"))
            case EventType.DATASET_DEFINITION:
                self._dataset(details_of(event))
            case EventType.FLOW_DEFINITION:
                self._flow(event, details_of(event))
            case EventType.FLOW_PROGRESS:
                return self._progress(event)
        return None

    def _new_update(self, update_id: str, full_refresh: object) -> None:
        self._refreshing = update_id
        self._refreshes_all = full_refresh == "all"
        names = full_refresh if isinstance(full_refresh, list) else []
        self._refreshed = {str(name).casefold() for name in names}
        self._begun = set()

    def _dataset(self, definition: Mapping[str, Any]) -> None:
        name = str(definition.get("dataset")).casefold()
        if definition.get("dataset_type") == "MATERIALIZED_VIEW":
            self._materialized.add(name)
        else:
            self._materialized.discard(name)

    def _flow(self, event: Event, definition: Mapping[str, Any]) -> None:
        key = flow_key(str(definition.get("output_dataset")), event.origin.flow_name or "")
        if str(definition.get("flow_type")).casefold() in _REPLACING:
            self._replacing.add(key)
        else:
            self._replacing.discard(key)

    def _progress(self, event: Event) -> FlowFact | None:
        dataset, flow = event.origin.dataset_name, event.origin.flow_name
        if dataset is None:
            return None
        key = flow_key(dataset, flow or dataset)
        status, progress = flow_status_of(event), batch_progress_of(event)
        after_full_refresh = False
        of_refresh = event.origin.update_id == self._refreshing
        if of_refresh and (progress is not None or status in _BEGINS) and self._is_refreshed(key[0]):
            after_full_refresh = True
            self._begun.add(key[0])
            for other in [other for other in self._last_batch if other[0] == key[0]]:
                del self._last_batch[other]
        replaces = key in self._replacing or key[0] in self._materialized
        repeats = False
        if progress is not None:
            repeats = not replaces and self._last_batch.get(key) == progress.batch_id
            self._last_batch[key] = progress.batch_id
        return FlowFact(
            dataset=dataset,
            flow=flow or dataset,
            update_id=event.origin.update_id,
            timestamp=event.timestamp,
            status=status,
            retry_at=retry_at_of(event),
            progress=progress,
            replaces=replaces,
            repeats=repeats,
            after_full_refresh=after_full_refresh,
        )

    def _is_refreshed(self, dataset: str) -> bool:
        if dataset in self._begun:
            return False
        return self._refreshes_all or any(name in self._refreshed for name in names_of_recorded(dataset))


class FlowProjection(ABC):
    """What is made of a log, event by event in its order. Not thread-safe."""

    def __init__(self) -> None:
        self._facts = FlowFacts()

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        self.take(event, self._facts.apply(event))

    @abstractmethod
    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""


def flow_key(dataset: str, flow: str) -> tuple[str, str]:
    """Returns what identifies a flow in a log: names compare without regard to case."""
    return dataset.casefold(), flow.casefold()


def details_of(event: Event) -> Mapping[str, Any]:
    """Returns the event's details under its own type, or nothing when they have another shape."""
    value = event.details.get(event.event_type.value)
    return value if isinstance(value, Mapping) else {}
