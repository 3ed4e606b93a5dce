"""A quarantine is a table of its own, whose name nothing else may have."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.quarantine import quarantine_of, quarantining


def quarantine_name_taken(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each dataset or sink that is called as the quarantine of a dataset."""
    for dataset in quarantining(graph):
        name = quarantine_of(dataset.identifier)
        taken = graph.get(name) or graph.sinks.get(name)
        if taken is not None:
            yield DefinitionError(
                "QUARANTINE_NAME_TAKEN",
                location=taken.location,
                dataset=str(taken.identifier),
                name=taken.identifier,
                owner=dataset.identifier,
            )
