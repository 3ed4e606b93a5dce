"""A join of two streams that no time bounds keeps their rows for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedGraph


def join_without_time_bound(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses such a join, at its line, unless the flow says that its state may grow."""
    for flow in graph.flows:
        for state in flow.endless:
            if state.operator == "stream-stream join" and not graph.allows_unbounded_state(flow):
                yield DefinitionError(
                    "STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND",
                    location=state.location or flow.flow.location,
                    dataset=str(flow.flow.target),
                    flow=flow.flow.name,
                )
