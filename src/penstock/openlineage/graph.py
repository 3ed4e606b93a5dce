"""The declared graph of the newest update, as OpenLineage sees it: jobs that read and write stored datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.events import Event, EventType
from penstock.events.flows.facts import details_of, flow_key
from penstock.openlineage.names import DatasetName, of_location, of_sink, of_source

Definition = Mapping[str, Any]


@dataclass(slots=True)
class DeclaredGraph:
    """Kept up to date by the definitions of an update; names compare without regard to case."""

    namespace: str
    _update_id: str | None = None
    _datasets: dict[str, Definition] = field(default_factory=dict)
    _flows: dict[tuple[str, str], Definition] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Takes one event into account; only definitions change anything."""
        kinds = {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION, EventType.FLOW_DEFINITION}
        if event.event_type not in kinds:
            return
        if event.origin.update_id != self._update_id:
            self._update_id = event.origin.update_id
            self._datasets, self._flows = {}, {}
        details = details_of(event)
        if event.event_type is EventType.FLOW_DEFINITION:
            self._flows[flow_key(str(details.get("output_dataset")), str(event.origin.flow_name))] = details
        else:
            self._datasets[str(details.get("dataset")).casefold()] = details

    def dataset(self, name: str) -> Definition:
        """Returns the definition of a table, a view or a sink; an empty one of a stranger."""
        return self._datasets.get(name.casefold(), {"dataset": name})

    def flow(self, dataset: str, flow: str) -> Definition:
        """Returns the definition of a flow; an empty one of a stranger."""
        return self._flows.get(flow_key(dataset, flow), {})

    def streams(self, dataset: str, flow: str) -> bool:
        """Whether the flow reads a stream, rather than all of its sources again."""
        return str(self.flow(dataset, flow).get("flow_type")).casefold() != "materialized_view"

    def name(self, dataset: str) -> DatasetName:
        """Returns what OpenLineage calls a dataset."""
        definition = self.dataset(dataset)
        if definition.get("dataset_type") == "SINK":
            return of_sink(definition, self.namespace)
        path = definition.get("path")
        return of_location(path) if isinstance(path, str) and path else DatasetName(self.namespace, dataset)

    def inputs(self, dataset: str, flow: str) -> dict[DatasetName, Definition]:
        """Returns what a flow reads that is stored somewhere: a view stands for what it reads itself."""
        return {
            name: definition for _, name, definition in self._inputs(self.flow(dataset, flow), {dataset.casefold()})
        }

    def input_name(self, dataset: str, flow: str) -> Callable[[str], DatasetName]:
        """Returns a function that gives the name of what the column lineage of a flow says is read."""
        names = {shown.casefold(): name for shown, name, _ in self._inputs(self.flow(dataset, flow), set())}
        return lambda shown: names.get(shown.casefold()) or self.name(shown)

    def _inputs(self, flow: Definition, seen: set[str]) -> Iterator[tuple[str, DatasetName, Definition]]:
        for source in flow.get("sources") or ():
            if isinstance(source, Mapping):
                shown = f"{source.get('format')} {source.get('description')}".strip()
                yield shown, of_source(source, self.namespace), {}
        for name in map(str, flow.get("input_datasets") or ()):
            definition = self.dataset(name)
            if definition.get("dataset_type") != "VIEW":
                yield name, self.name(name), definition
            elif name.casefold() not in seen:
                seen.add(name.casefold())
                for (target, _), inner in self._flows.items():
                    if target == name.casefold():
                        yield from self._inputs(inner, seen)
