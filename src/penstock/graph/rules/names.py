"""A name and a place are declared once."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockError
from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.companions.quarantining import quarantining
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, Expectation, Sink, Table, UnresolvedFlow
from penstock.graph.identifier import Identifier


def duplicate_dataset(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later declaration of a name, at its place, naming the first one's."""
    for dataset in graph.declared:
        yield from _compared(graph.datasets[dataset.identifier], dataset, "dataset")
    for sink in graph.declared_sinks:
        first = graph.get(sink.identifier) or graph.sinks[sink.identifier]
        yield from _compared(first, sink, "sink")


def _compared(first: Dataset | Sink, second: Dataset | Sink, kind: str) -> Iterator[PenstockError]:
    if first is not second:
        yield second.error(
            "DUPLICATE_GRAPH_ELEMENT", kind=kind, name=second.identifier, first=first.location, second=second.location
        )


# A flow's name keys its checkpoint, so a target may have it once.
def duplicate_flow(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later flow of the same name and target.

    A table declared twice brings its own flow twice; `duplicate_dataset` has reported that already.
    """
    places = {(dataset.identifier, dataset.location) for dataset in graph.declared}
    first_by_key: dict[tuple[Identifier, str], UnresolvedFlow] = {}
    for flow in graph.flows:
        first = first_by_key.setdefault(flow.key, flow)
        both_belong_to_tables = (flow.target, flow.location) in places and (flow.target, first.location) in places
        if first is flow or both_belong_to_tables:
            continue
        yield flow.error(
            "DUPLICATE_GRAPH_ELEMENT", kind="flow", name=flow.name, first=first.location, second=flow.location
        )


# An expectation's name keys its counts, so a dataset may have it once.
def duplicate_expectation(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later expectation of the same name on the same dataset."""
    for dataset in graph.declared:
        first_by_name: dict[str, Expectation] = {}
        for expectation in dataset.expectations:
            first = first_by_name.setdefault(expectation.name, expectation)
            if first is not expectation:
                yield expectation.error(
                    "DUPLICATE_EXPECTATION",
                    dataset.identifier,
                    name=dataset.identifier,
                    first=first.location,
                    second=expectation.location,
                )


def duplicate_path(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later table with the `path` of an earlier one."""
    first_by_path: dict[str, Table] = {}
    for table in graph.tables:
        if table.path is None:
            continue
        first = first_by_path.setdefault(table.path.rstrip("/"), table)
        if first is not table:
            yield table.error("DUPLICATE_TABLE_PATH", first=first.identifier, second=table.identifier, path=table.path)


# A quarantine is a table of its own, whose name nothing else may have.
def quarantine_name_taken(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each dataset or sink that is called as the quarantine of a dataset."""
    for dataset in quarantining(graph):
        name = quarantine_of(dataset.identifier)
        taken = graph.get(name) or graph.sinks.get(name)
        if taken is not None:
            yield taken.error("QUARANTINE_NAME_TAKEN", name=taken.identifier, owner=dataset.identifier)
