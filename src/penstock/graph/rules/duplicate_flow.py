"""A flow's name keys its checkpoint, so a target may have it once."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import UnresolvedFlow
from penstock.graph.identifier import Identifier


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
        yield DefinitionError(
            "DUPLICATE_GRAPH_ELEMENT",
            location=flow.location,
            dataset=str(flow.target),
            kind="flow",
            name=flow.name,
            first=first.location,
            second=flow.location,
        )
