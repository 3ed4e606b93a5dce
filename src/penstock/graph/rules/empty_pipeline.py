"""A pipeline stores or hands on something."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph


def empty_pipeline(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports a pipeline that declares neither a stored dataset nor a sink; views alone are never computed."""
    if not graph.tables and not graph.sinks and not graph.refused and not graph.incomplete:
        yield DefinitionError("RUN_EMPTY_PIPELINE")
