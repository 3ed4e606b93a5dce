"""A name may be declared once."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph


def duplicate_dataset(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later declaration of a name, at its place, naming the first one's."""
    for dataset in graph.declared:
        first = graph.datasets[dataset.identifier]
        if first is not dataset:
            yield DefinitionError(
                "DUPLICATE_GRAPH_ELEMENT",
                location=dataset.location,
                dataset=str(dataset.identifier),
                kind="dataset",
                name=dataset.identifier,
                first=first.location,
                second=dataset.location,
            )
