"""A table or a sink needs something that writes to it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.sink_group import groups, members


def dataset_without_flow(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each table and sink that no flow writes to, as a `create_streaming_table` without an `append_flow`."""
    filled = {flow.target for flow in graph.flows}
    filled |= {member for group in groups(graph.sinks.values()) for member in members(group)}
    kinds = [
        *((table, "streaming table") for table in graph.tables),
        *((sink, "sink") for sink in graph.sinks.values()),
    ]
    for target, kind in kinds:
        if target.identifier in filled or target.identifier in graph.refused or graph.incomplete:
            continue
        yield DefinitionError(
            "PIPELINE_DATASET_WITHOUT_FLOW",
            location=target.location,
            dataset=str(target.identifier),
            identifier=target.identifier,
            kind=kind,
        )
