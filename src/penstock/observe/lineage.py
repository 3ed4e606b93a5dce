"""Who feeds whom: the lineage of a pipeline, from its event log or from its resolved graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from penstock.events.details import mappings, texts
from penstock.events.types import Event, EventType, FlowStatus
from penstock.graph.elements import FormatSink, StreamingTable
from penstock.graph.resolved import Input, ResolvedGraph
from penstock.observe.status.pipeline_status import PipelineStatus, StatusProjection


class NodeKind(Enum):
    """What a node of the lineage is; the value is how a person calls it."""

    SOURCE = "source"
    STREAMING_TABLE = "streaming table"
    MATERIALIZED_VIEW = "materialized view"
    VIEW = "view"
    SINK = "sink"
    DATASET = "dataset"
    """A dataset whose type the log does not have, e.g. one written by a newer version."""


_KINDS: Final[Mapping[object, NodeKind]] = {
    kind.name: kind for kind in (NodeKind.STREAMING_TABLE, NodeKind.MATERIALIZED_VIEW, NodeKind.VIEW)
}
"""By the types of a `dataset_definition`."""


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One box of the drawing.

    `name` identifies the node: `schema.name` for a dataset, `format description` for an external
    source. `label` is what a person reads first, `detail` the format of a source or sink. `rows` counts rows
    written, `dropped` those that expectations dropped, `rows_per_second` is the processed rate of
    the last batch. None means: not known (before a run, or for a view, which stores nothing). `warned` marks what works
    but will not for long, such as a table that falls behind.
    """

    name: str
    kind: NodeKind
    label: str
    detail: str | None = None
    status: FlowStatus | None = None
    rows: int | None = None
    dropped: int | None = None
    rows_per_second: float | None = None
    warned: bool = False

    @property
    def kind_in_words(self) -> str:
        """What is under the label: `streaming table`, `kafka`, `kafka sink`."""
        if self.kind is NodeKind.SOURCE and self.detail:
            return self.detail
        return f"{self.detail} sink" if self.kind is NodeKind.SINK and self.detail else self.kind.value


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """Rows of `upstream` go to `downstream`; both are names of nodes."""

    upstream: str
    downstream: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """A drawable graph. Build it with `Lineage.of`, which drops what cannot be drawn."""

    nodes: tuple[LineageNode, ...]
    edges: tuple[LineageEdge, ...]

    @classmethod
    def of(cls, nodes: Iterable[LineageNode], edges: Iterable[LineageEdge]) -> Lineage:
        """Returns the lineage of distinct nodes and edges, in the order given.

        Edges name datasets in any case, as flows read them. An edge to itself or to a name without
        a node is left out: a log that was cut short can hold one, and a drawing must not fail for it.
        """
        by_name = {node.name: node for node in nodes}
        spelt = {node.name.casefold(): node.name for node in by_name.values() if node.kind is not NodeKind.SOURCE}

        def known(name: str) -> str | None:
            return name if name in by_name else spelt.get(name.casefold())

        valid: dict[LineageEdge, None] = {}
        for edge in edges:
            upstream, downstream = known(edge.upstream), known(edge.downstream)
            if upstream is not None and downstream is not None and upstream != downstream:
                valid[LineageEdge(upstream, downstream)] = None
        return cls(tuple(by_name.values()), tuple(valid))

    def node(self, name: str) -> LineageNode | None:
        """Returns the node called `name`, or None."""
        return next((node for node in self.nodes if node.name == name), None)

    def upstream(self, name: str) -> tuple[str, ...]:
        """Returns the names of the nodes that feed `name` directly."""
        return tuple(edge.upstream for edge in self.edges if edge.downstream == name)

    def downstream(self, name: str) -> tuple[str, ...]:
        """Returns the names of the nodes that `name` feeds directly."""
        return tuple(edge.downstream for edge in self.edges if edge.upstream == name)

    def around(self, name: str) -> Lineage:
        """Returns `name` with its direct neighbours only."""
        near = {name, *self.upstream(name), *self.downstream(name)}
        return Lineage.of(
            (node for node in self.nodes if node.name in near),
            (edge for edge in self.edges if name in (edge.upstream, edge.downstream)),
        )

    def with_numbers(self, numbers: Mapping[str, Mapping[str, Any]]) -> Lineage:
        """Returns the same graph with fields of nodes replaced: `{name: {field: value}}`."""
        return Lineage(tuple(replace(node, **numbers.get(node.name, {})) for node in self.nodes), self.edges)

    def with_status(self, status: PipelineStatus) -> Lineage:
        """Returns the same graph with each dataset's status, rows, drops and processed rate."""
        spelt = {node.name.casefold(): node.name for node in self.nodes if node.kind is not NodeKind.SOURCE}
        return self.with_numbers(
            {
                spelt.get(dataset.name.casefold(), dataset.name): {
                    "status": dataset.status,
                    "rows": dataset.rows,
                    "dropped": dataset.dropped,
                    "rows_per_second": dataset.processed_rows_per_second,
                }
                for dataset in status.datasets
            }
        )

    def short_labels(self) -> dict[str, str]:
        """Returns the label of each node by its name, without the schema when all datasets share one schema."""
        schemas = {node.name.rpartition(".")[0] for node in self.nodes if node.kind is not NodeKind.SOURCE}
        return {
            node.name: node.label
            if node.kind is NodeKind.SOURCE or len(schemas) > 1 or "." not in node.label
            else node.label.rpartition(".")[2]
            for node in self.nodes
        }


class LineageProjection:
    """The lineage of an event log, kept up to date event by event.

    The definitions of the newest update that reached its definitions count: a dataset that was
    removed from the pipeline's files leaves the drawing, and an update that failed before it
    could define anything leaves the drawing as it was. Not thread-safe.
    """

    def __init__(self) -> None:
        self._update_id: str | None = None
        self._nodes: dict[str, LineageNode] = {}
        self._edges: dict[LineageEdge, None] = {}

    def apply(self, event: Event) -> None:
        """Takes one event into account; an event without lineage in it changes nothing."""
        match event.event_type:
            case EventType.DATASET_DEFINITION:
                self._begin(event.origin.update_id)
                self._dataset(event.details.get("dataset_definition") or {})
            case EventType.SINK_DEFINITION:
                self._begin(event.origin.update_id)
                self._sink(event.details.get("sink_definition") or {})
            case EventType.FLOW_DEFINITION:
                self._begin(event.origin.update_id)
                self._flow(event.details.get("flow_definition") or {})

    def lineage(self) -> Lineage:
        """Returns the lineage as of the last event, without numbers."""
        return Lineage.of(self._nodes.values(), self._edges)

    def _begin(self, update_id: str) -> None:
        if update_id != self._update_id:
            self._update_id = update_id
            self._nodes, self._edges = {}, {}

    def _dataset(self, definition: Mapping[str, Any]) -> None:
        name = definition.get("dataset")
        if not isinstance(name, str):
            return
        self._nodes[name] = LineageNode(name, _KINDS.get(definition.get("dataset_type"), NodeKind.DATASET), name)
        self._connect(texts(definition, "inputs"), name)

    def _sink(self, definition: Mapping[str, Any]) -> None:
        name = definition.get("dataset")
        if isinstance(name, str):
            self._nodes[name] = sink_node(name, str(definition.get("format") or ""))

    def _flow(self, definition: Mapping[str, Any]) -> None:
        target = definition.get("output_dataset")
        if not isinstance(target, str):
            return
        self._nodes.setdefault(target, LineageNode(target, NodeKind.DATASET, target))
        self._connect(texts(definition, "input_datasets"), target)
        for source in mappings(definition, "sources"):
            node = source_node(str(source.get("format") or "source"), str(source.get("description") or ""))
            self._nodes.setdefault(node.name, node)
            self._edges[LineageEdge(node.name, target)] = None

    def _connect(self, inputs: Sequence[str], target: str) -> None:
        for name in inputs:
            self._edges[LineageEdge(name, target)] = None


class LineageWithStatus:
    """The lineage with the states and numbers of its datasets, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self._lineage = LineageProjection()
        self._status = StatusProjection()

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        self._lineage.apply(event)
        self._status.apply(event)

    def lineage(self) -> Lineage:
        """Returns the lineage as of the last event."""
        return self._lineage.lineage().with_status(self._status.status())


def lineage_of_graph(graph: ResolvedGraph) -> Lineage:
    """Returns the lineage of a pipeline that was analysed but did not necessarily run."""
    nodes: dict[str, LineageNode] = {}
    edges: list[LineageEdge] = []

    def read(inputs: Sequence[Input], target: str) -> None:
        for source in inputs:
            if source.dataset is not None:
                edges.append(LineageEdge(str(source.dataset), target))
                continue
            node = source_node(source.format, source.description)
            nodes.setdefault(node.name, node)
            edges.append(LineageEdge(node.name, target))

    for identifier in graph.order:
        name = str(identifier)
        if identifier in graph.views:
            kind = NodeKind.VIEW
            read(graph.views[identifier].inputs, name)
        else:
            streaming = isinstance(graph.tables[identifier], StreamingTable)
            kind = NodeKind.STREAMING_TABLE if streaming else NodeKind.MATERIALIZED_VIEW
            for flow in graph.flows_to(identifier):
                read(flow.inputs, name)
        nodes[name] = LineageNode(name, kind, name)
    for sink in graph.sinks.values():
        name = str(sink.identifier)
        nodes[name] = sink_node(name, sink.format if isinstance(sink, FormatSink) else "foreach_batch")
        for flow in graph.flows_to(sink.identifier):
            read(flow.inputs, name)
    return Lineage.of(nodes.values(), edges)


def source_node(source_format: str, description: str) -> LineageNode:
    """Returns the node of an external source, e.g. `("kafka", "orders")`."""
    name = f"{source_format} {description}".strip()
    return LineageNode(name, NodeKind.SOURCE, description or source_format, detail=source_format)


def sink_node(name: str, sink_format: str) -> LineageNode:
    """Returns the node of a sink called `name`."""
    return LineageNode(name, NodeKind.SINK, name, detail=sink_format or None)
