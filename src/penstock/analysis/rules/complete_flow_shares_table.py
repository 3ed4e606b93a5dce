"""A flow that rewrites its whole table cannot share it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.flow_type import FlowType
from penstock.graph.resolved import ResolvedGraph


def complete_flow_shares_table(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a complete-mode flow beside others: each batch would erase the others' rows."""
    for identifier in graph.tables:
        flows = graph.flows_to(identifier)
        for flow in flows:
            if flow.type is FlowType.COMPLETE and len(flows) > 1:
                yield DefinitionError(
                    "COMPLETE_FLOW_SHARES_TABLE",
                    location=flow.declaration.location,
                    dataset=str(identifier),
                    flow=flow.declaration.name,
                    others=", ".join(other.declaration.name for other in flows if other is not flow),
                )
