"""A declared schema names every column of the query."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.resolved import ResolvedGraph


def declared_schema_misses_column(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a query column that the table's declared schema does not have: it would be lost."""
    for flow in graph.flows:
        table, declared = graph.tables.get(flow.flow.target), graph.stored_schemas.get(flow.flow.target)
        if declared is None or table is None or table.schema is None:
            continue
        names = {name.casefold() for name in declared.names}
        for column in flow.schema.names:
            if column.casefold() not in names:
                yield DefinitionError(
                    "COLUMN_NOT_IN_DECLARED_SCHEMA",
                    location=flow.flow.location,
                    dataset=str(flow.flow.target),
                    column=column,
                    suggestion=did_you_mean(column, declared.names, also=f"Declared: {', '.join(declared.names)}."),
                )
