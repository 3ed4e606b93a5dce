"""A table needs something that fills it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph


def dataset_without_flow(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each table that no flow writes to, as a `create_streaming_table` without an `append_flow`."""
    filled = {flow.target for flow in graph.flows}
    for table in graph.tables:
        if table.identifier in filled or table.identifier in graph.refused or graph.incomplete:
            continue
        yield DefinitionError(
            "PIPELINE_DATASET_WITHOUT_FLOW",
            location=table.location,
            dataset=str(table.identifier),
            identifier=table.identifier,
        )
