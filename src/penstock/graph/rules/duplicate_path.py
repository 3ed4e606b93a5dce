"""Two tables must not write to one place."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Table


def duplicate_path(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each later table with the `path` of an earlier one."""
    first_by_path: dict[str, Table] = {}
    for table in graph.tables:
        if table.path is None:
            continue
        first = first_by_path.setdefault(table.path.rstrip("/"), table)
        if first is not table:
            yield DefinitionError(
                "DUPLICATE_TABLE_PATH",
                location=table.location,
                dataset=str(table.identifier),
                first=first.identifier,
                second=table.identifier,
                path=table.path,
            )
