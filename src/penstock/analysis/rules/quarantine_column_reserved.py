"""A quarantine keeps a row's columns beside its own, so the two must not meet."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.quarantine import RESERVED_PREFIX, has_quarantine
from penstock.graph.resolved import ResolvedGraph


def quarantine_column_reserved(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a query with a column of the quarantine's own, if its target has a quarantine."""
    for identifier, table in graph.tables.items():
        for flow in graph.flows_to(identifier) if has_quarantine(table) else ():
            for column in flow.rows.names:
                if column.casefold().startswith(RESERVED_PREFIX):
                    yield DefinitionError(
                        "QUARANTINE_COLUMN_RESERVED",
                        location=flow.declaration.location,
                        dataset=str(identifier),
                        name=identifier,
                        column=column,
                        prefix=RESERVED_PREFIX,
                    )
