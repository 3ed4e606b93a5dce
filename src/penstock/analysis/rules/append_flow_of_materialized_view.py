"""A materialized view has exactly one flow."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import MaterializedView
from penstock.graph.resolved import ResolvedGraph


def append_flow_of_materialized_view(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses an `append_flow` into a materialized view, whose rows each refresh replaces."""
    for identifier, table in graph.tables.items():
        flows = graph.flows_to(identifier)
        if not isinstance(table, MaterializedView) or len(flows) == 1:
            continue
        for flow in flows:
            if flow.declaration.name.casefold() != identifier.name.casefold():
                yield DefinitionError(
                    "APPEND_FLOW_INTO_MATERIALIZED_VIEW",
                    location=flow.declaration.location,
                    dataset=str(identifier),
                    flow=flow.declaration.name,
                    name=identifier,
                )
