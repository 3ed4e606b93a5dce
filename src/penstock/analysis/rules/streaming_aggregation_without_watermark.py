"""A streaming aggregation that no watermark bounds keeps its state for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import FlowType, ResolvedGraph


def streaming_aggregation_without_watermark(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Warns that its state grows; planned in complete mode, as by default, it also rewrites its table each batch."""
    for flow in graph.flows:
        complete = flow.type is FlowType.COMPLETE
        if complete or (flow.keys is not None and "aggregate" in flow.stateful and flow.watermark is None):
            yield DefinitionError(
                "STREAMING_AGGREGATION_WITHOUT_WATERMARK",
                location=flow.flow.location,
                dataset=str(flow.flow.target),
                flow=flow.flow.name,
                also=" and the table is rewritten in each batch (complete mode)" if complete else "",
            )
