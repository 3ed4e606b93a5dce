"""A join of two streams on equal times needs a watermark on both of them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedGraph


def join_watermark_on_one_side(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a join that would lose late rows of the side without a watermark uncounted."""
    for flow in graph.flows:
        for join in flow.one_sided_joins:
            yield DefinitionError(
                "JOIN_WATERMARK_ON_ONE_SIDE",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                marked=join.marked,
                unmarked=join.unmarked,
            )
