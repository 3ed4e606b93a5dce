"""A pipeline stores something."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph


def empty_pipeline(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports a pipeline that declares no stored dataset; views alone are never computed."""
    if not graph.tables and not graph.refused and not graph.incomplete:
        yield DefinitionError("RUN_EMPTY_PIPELINE")
