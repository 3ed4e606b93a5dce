"""Delta stores column names without blanks and punctuation, unless column mapping is on."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.analysis.column_mapping import mapped_names
from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import COLUMN_MAPPING
from penstock.graph.resolved import ResolvedGraph


def column_name_not_storable(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a name such as `sum(amount)` in a table whose author has switched column mapping off."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is None or str(table.table_properties.get(COLUMN_MAPPING, "none")).casefold() != "none":
            continue
        for name in mapped_names(flow):
            yield DefinitionError(
                "COLUMN_NAME_NOT_STORABLE",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                column=name,
            )
