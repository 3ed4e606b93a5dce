"""Each flow fills the NOT NULL columns of its table."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.declared_columns import unfilled_columns
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedGraph


def not_null_column_not_filled(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a query without a column or field that is declared NOT NULL and that Delta does not generate."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is None or table.schema is None or flow.type not in ROWS_AS_QUERIED:
            continue
        for column in unfilled_columns(flow.schema, graph.stored_schemas[flow.declaration.target]):
            yield DefinitionError(
                "NOT_NULL_COLUMN_NOT_FILLED",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                name=flow.declaration.target,
                column=column,
            )
