"""A flow writes to a streaming table or a sink that the pipeline declares."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import MaterializedView, TemporaryView
from penstock.graph.identifier import Identifier

_KIND_IN_WORDS = {MaterializedView: "materialized view", TemporaryView: "view"}


def flow_target(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports flows whose target does not exist, is a view, or is a materialized view.

    Whether an undecided `@table` turns out to be streaming is known only after analysis.
    """
    for flow in graph.flows:
        if flow.target in graph.sinks:
            continue
        target = graph.get(flow.target)
        if target is None:
            if graph.incomplete or flow.target in graph.refused:
                continue
            yield DefinitionError(
                "FLOW_TARGET_UNKNOWN",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                target=flow.target,
                suggestion=_suggestion(graph, flow.target),
            )
        elif (kind := _KIND_IN_WORDS.get(type(target))) and flow.location != target.location:
            yield DefinitionError(
                "FLOW_TARGET_NOT_STREAMING_TABLE",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                target=flow.target,
                kind=kind,
            )


def _suggestion(graph: DataflowGraph, target: Identifier) -> str:
    known = (*graph.datasets, *graph.sinks)
    if target.catalog is not None:
        return did_you_mean(str(target), map(str, known))
    return did_you_mean(target.name, (each.name for each in known))
