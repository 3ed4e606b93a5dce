"""What the event log says about flows that matters for their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.events import Event, EventType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import FlowType
from penstock.observe.flow_facts import FlowFacts, details_of, flow_key

RESET = "RESET_CHECKPOINT"
"""The user action after which a flow reads its sources from the beginning."""

_QUERIES = {FlowType.APPEND.value, FlowType.COMPLETE.value, FlowType.UPDATE.value, FlowType.CHANGE.value}
_REMEMBERED = 200
Key = tuple[str, str]


@dataclass(slots=True)
class FlowRecord:
    """One flow, by its newest definition and its batches since it last began anew.

    `declared` tells whether the newest update knew the flow, `query` whether it keeps a checkpoint. `written` are
    the rows of the newest batches, by number.
    """

    dataset: Identifier
    flow: str
    declared: bool = False
    query: bool = False
    sources: dict[str, str] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)

    @property
    def ran(self) -> bool:
        """Whether a batch was committed since the flow began anew."""
        return bool(self.written)

    def wrote_nothing(self, batches: Iterable[int]) -> bool:
        """Whether those of these batches that are remembered have written no row, and at least one is."""
        known = [self.written[batch] for batch in batches if batch in self.written]
        return bool(known) and not any(known)


class FlowRecords:
    """The records of all flows in a log, kept up to date event by event."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._records: dict[Key, FlowRecord] = {}
        self._facts = FlowFacts()
        self._defining: str | None = None
        self.sinks: set[Identifier] = set()
        for event in events:
            self.apply(event)

    def __iter__(self) -> Iterator[FlowRecord]:
        return iter(self._records.values())

    def of(self, dataset: Identifier, flow: str) -> FlowRecord:
        """Returns a flow's record; an empty one when the log does not know the flow."""
        return self._records.get(flow_key(str(dataset), flow)) or FlowRecord(dataset, flow)

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        fact = self._facts.apply(event)
        name = event.origin.dataset_name
        if name is None:
            return
        match event.event_type:
            case EventType.SINK_DEFINITION:
                self.sinks.add(_identifier(name))
            case EventType.FLOW_DEFINITION:
                self._define(event, name)
            case EventType.USER_ACTION:
                self._act(event, name)
            case _ if fact is not None:
                key = flow_key(fact.dataset, fact.flow)
                if fact.begins_anew:
                    self._forget(name, None)
                if fact.progress is not None and key in self._records:
                    numbers = fact.progress
                    written = self._records[key].written
                    rows = numbers.num_output_rows + (numbers.num_upserted_rows or 0) + (numbers.num_deleted_rows or 0)
                    written[numbers.batch_id] = rows
                    if len(written) > _REMEMBERED:
                        del written[next(iter(written))]

    def _define(self, event: Event, name: str) -> None:
        if event.origin.update_id != self._defining:
            self._defining = event.origin.update_id
            for record in self._records.values():
                record.declared = False
        definition, flow = details_of(event), event.origin.flow_name or name
        record = self._records.setdefault(flow_key(name, flow), FlowRecord(_identifier(name), flow))
        record.dataset, record.flow, record.declared = _identifier(name), flow, True
        record.query = str(definition.get("flow_type")) in _QUERIES and not definition.get("once")
        sources = definition.get("sources")
        record.sources = {
            str(source.get("name")): f"{source.get('format')} {source.get('description') or ''}".strip()
            for source in (sources if isinstance(sources, list) else ())
            if isinstance(source, dict) and source.get("name")
        }

    def _act(self, event: Event, name: str) -> None:
        match details_of(event).get("action"):
            case "DROP":
                self._forget(name, None)
            case action if action == RESET:
                self._forget(name, event.origin.flow_name)
            case _:
                pass

    def _forget(self, dataset: str, flow: str | None) -> None:
        for key, record in self._records.items():
            if key[0] == dataset.casefold() and (flow is None or key[1] == flow.casefold()):
                record.written.clear()


def _identifier(name: str) -> Identifier:
    schema, _, table = name.partition(".")
    return Identifier(schema, table)
