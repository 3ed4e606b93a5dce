"""A declared schema names every column of the query."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockError
from penstock.graph.declared_columns import undeclared_column, undeclared_columns
from penstock.graph.resolved import ResolvedGraph


def declared_schema_misses_column(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a column or a field of a struct that the table's declared schema does not have: it would be lost."""
    for flow in graph.flows:
        table, declared = graph.tables.get(flow.declaration.target), graph.stored_schemas.get(flow.declaration.target)
        if declared is None or table is None or table.schema is None:
            continue
        for column in undeclared_columns(flow.schema, declared):
            yield undeclared_column(column, flow.declaration, declared)
