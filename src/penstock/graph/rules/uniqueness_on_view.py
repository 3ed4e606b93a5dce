"""Uniqueness is checked where rows are stored."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import TemporaryView, UniqueKey


def uniqueness_on_view(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each expectation of a view that its rows be unique."""
    for dataset in graph.declared:
        for expectation in dataset.expectations if isinstance(dataset, TemporaryView) else ():
            if isinstance(expectation.constraint, UniqueKey):
                yield DefinitionError(
                    "UNIQUENESS_ON_VIEW",
                    location=expectation.location,
                    dataset=str(dataset.identifier),
                    expectation=expectation.name,
                    name=dataset.identifier,
                )
