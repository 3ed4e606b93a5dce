"""A streaming aggregation that no watermark bounds keeps its state for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import FlowType, ResolvedGraph


def streaming_aggregation_without_watermark(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Warns that such a flow is planned in complete mode: the whole table is rewritten each batch."""
    for flow in graph.flows:
        if flow.type is FlowType.COMPLETE:
            yield DefinitionError(
                "STREAMING_AGGREGATION_WITHOUT_WATERMARK",
                location=flow.flow.location,
                dataset=str(flow.flow.target),
                flow=flow.flow.name,
            )
