"""A table takes the wider types of the files that it is filled from."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import TYPE_WIDENING
from penstock.graph.resolved import ResolvedGraph


def type_widening_not_enabled(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses Auto Loader's type widening into a table that Delta would not widen, before a file needs it."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if not flow.widens or table is None or table.schema is not None:
            continue
        if str(table.table_properties.get(TYPE_WIDENING, "false")).casefold() != "true":
            yield DefinitionError(
                "TYPE_WIDENING_NOT_ENABLED",
                location=table.location,
                dataset=str(table.identifier),
                flow=flow.declaration.name,
                name=table.identifier,
            )
