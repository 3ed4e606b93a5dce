"""What the event log says about flows that matters for their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.events.details import mapping, mappings, texts, total
from penstock.events.flows.compaction import SummedProjection, totals_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.events.flows.progress import checkpointed_batch_of
from penstock.events.types import BatchProgress, CheckpointedBatch, Event, EventType
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier

RESET = "RESET_CHECKPOINT"
"""The user action after which a flow reads its sources from the beginning."""

REWIND = "REWIND_CHECKPOINT"
"""The user action after which a flow does its batches after `to_batch` again."""

_QUERIES = {FlowType.APPEND.value, FlowType.COMPLETE.value, FlowType.UPDATE.value, FlowType.CHANGE.value}
_REMEMBERED = 200
Key = tuple[str, str]


@dataclass(slots=True)
class FlowRecord:
    """One flow, by its newest definition and its batches since its last restart from scratch.

    `declared`: whether the newest update knew the flow, `query` whether it keeps a checkpoint. `flow_type` is a
    value of `FlowType` or `view`, `inputs` are the full names of the datasets that it reads. `written` are the rows of
    the newest batches, by number, `read` those that it took in all batches, a repeated one each time. `checkpointed` is
    what the checkpoint said about the newest two batches, and `settings` are those of Spark that belong to it.
    `stateful` also covers a watermark, `was_reset` that everything before was given up by a full refresh, a reset or
    a drop.
    """

    dataset: Identifier
    flow: str
    declared: bool = False
    query: bool = False
    flow_type: str = ""
    inputs: tuple[str, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    stateful: bool = False
    was_reset: bool = False
    checkpointed: dict[int, CheckpointedBatch] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    read: int = 0

    @property
    def ran(self) -> bool:
        """Whether a batch was committed since the flow began from scratch."""
        return bool(self.written)

    def remember(self, batch: int, checkpointed: CheckpointedBatch | None) -> None:
        """Takes note of what the checkpoint said about a batch: newer ones of the same query, or another one's, go."""
        if checkpointed is not None and checkpointed.settings:
            self.settings = dict(checkpointed.settings)
        older = {number: each for number, each in self.checkpointed.items() if number < batch}
        self.checkpointed = {} if checkpointed is None else {**dict(list(older.items())[-1:]), batch: checkpointed}

    def wrote_nothing(self, batches: Iterable[int]) -> bool:
        """Whether those of these batches that are remembered have written no row, and at least one is."""
        known = [self.written[batch] for batch in batches if batch in self.written]
        return bool(known) and not any(known)


class FlowRecords(SummedProjection):
    """The records of all flows in a log, kept up to date event by event."""

    PART = "checkpoint"

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._records: dict[Key, FlowRecord] = {}
        super().__init__()
        self._defining: str | None = None
        self.sinks: set[Identifier] = set()
        for event in events:
            self.apply(event)

    def __iter__(self) -> Iterator[FlowRecord]:
        return iter(self._records.values())

    def of(self, dataset: Identifier, flow: str) -> FlowRecord:
        """Returns a flow's record; an empty one when the log does not know the flow."""
        return self._records.get(flow_key(str(dataset), flow)) or FlowRecord(dataset, flow)

    def totals(self) -> dict[Key, dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""
        return {
            key: {"read": record.read, "began_anew": record.was_reset, "settings": record.settings}
            for key, record in self._records.items()
        }

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        for key, totals in totals_of(event, self.PART):
            record = self._records.setdefault(key, FlowRecord(Identifier.recorded(key[0]), key[1]))
            record.read, record.was_reset = total(totals, "read"), totals.get("began_anew") is True
            record.settings = {str(name): str(value) for name, value in (mapping(totals, "settings") or {}).items()}
        name = event.origin.dataset_name
        if name is None:
            return
        match event.event_type:
            case EventType.SINK_DEFINITION:
                self.sinks.add(Identifier.recorded(name))
            case EventType.FLOW_DEFINITION:
                self._define(event, name)
            case EventType.USER_ACTION:
                self._act(event, name)
            case _ if fact is not None:
                key = flow_key(fact.dataset, fact.flow)
                if fact.after_full_refresh:
                    self._forget(name, None)
                if fact.progress is not None:
                    progress = fact.progress
                    # The end of a log may have batches without the flow's definition.
                    record = self._records.setdefault(key, FlowRecord(Identifier.recorded(name), fact.flow))
                    written = record.written
                    written[progress.batch_id] = _rows_of(progress)
                    record.read += progress.num_input_rows
                    if len(written) > _REMEMBERED:
                        del written[next(iter(written))]
                    record.remember(progress.batch_id, checkpointed_batch_of(event))

    def _define(self, event: Event, name: str) -> None:
        if event.origin.update_id != self._defining:
            self._defining = event.origin.update_id
            for record in self._records.values():
                record.declared = False
        definition, flow = details_of(event), event.origin.flow_name or name
        record = self._records.setdefault(flow_key(name, flow), FlowRecord(Identifier.recorded(name), flow))
        record.dataset, record.flow, record.declared = Identifier.recorded(name), flow, True
        record.flow_type = str(definition.get("flow_type"))
        record.query = record.flow_type in _QUERIES and not definition.get("once")
        record.stateful = bool(definition.get("stateful") or definition.get("watermark"))
        record.inputs = texts(definition, "input_datasets")
        record.sources = {
            str(source.get("name")): f"{source.get('format')} {source.get('description') or ''}".strip()
            for source in mappings(definition, "sources")
            if source.get("name")
        }

    def _act(self, event: Event, name: str) -> None:
        match details_of(event).get("action"):
            case "DROP":
                self._forget(name, None)
            case action if action == RESET:
                flow = event.origin.flow_name or name
                self._records.setdefault(flow_key(name, flow), FlowRecord(Identifier.recorded(name), flow))
                self._forget(name, event.origin.flow_name)
            case action if action == REWIND:
                batch = (mapping(details_of(event), "arguments") or {}).get("to_batch")
                if isinstance(batch, int):
                    self._forget(name, event.origin.flow_name, after=batch)
            case _:
                pass

    def _forget(self, dataset: str, flow: str | None, *, after: int = -1) -> None:
        for key, record in self._records.items():
            if key[0] == dataset.casefold() and (flow is None or key[1] == flow.casefold()):
                if after < 0:
                    record.was_reset, record.read = True, 0
                for batch in [batch for batch in record.written if batch > after]:
                    del record.written[batch]
                    record.checkpointed.pop(batch, None)


def _rows_of(progress: BatchProgress) -> int:
    """The rows by which a batch has changed its table; of applied changes, events that came too late change none."""
    if progress.num_upserted_rows is None:
        return progress.num_output_rows
    return progress.num_upserted_rows + (progress.num_deleted_rows or 0)
