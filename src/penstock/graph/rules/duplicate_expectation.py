"""An expectation's name keys its counts, so a dataset may have it once."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Expectation


def duplicate_expectation(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later expectation of the same name on the same dataset."""
    for dataset in graph.declared:
        first_by_name: dict[str, Expectation] = {}
        for expectation in dataset.expectations:
            first = first_by_name.setdefault(expectation.name, expectation)
            if first is not expectation:
                yield DefinitionError(
                    "DUPLICATE_EXPECTATION",
                    location=expectation.location,
                    dataset=str(dataset.identifier),
                    expectation=expectation.name,
                    name=dataset.identifier,
                    first=first.location,
                    second=expectation.location,
                )
