"""A name may be declared once: datasets and sinks share their names."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, Sink


def duplicate_dataset(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later declaration of a name, at its place, naming the first one's."""
    for dataset in graph.declared:
        yield from _compared(graph.datasets[dataset.identifier], dataset, "dataset")
    for sink in graph.declared_sinks:
        first = graph.get(sink.identifier) or graph.sinks[sink.identifier]
        yield from _compared(first, sink, "sink")


def _compared(first: Dataset | Sink, second: Dataset | Sink, kind: str) -> Iterator[PenstockError]:
    if first is not second:
        yield DefinitionError(
            "DUPLICATE_GRAPH_ELEMENT",
            location=second.location,
            dataset=str(second.identifier),
            kind=kind,
            name=second.identifier,
            first=first.location,
            second=second.location,
        )
