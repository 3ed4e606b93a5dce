"""State that no watermark frees grows for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.flow_type import FlowType
from penstock.graph.resolved import EndlessState, ResolvedFlow, ResolvedGraph

_CONDITIONS: Final = {
    "aggregate": "STREAMING_AGGREGATION_WITHOUT_WATERMARK",
    "deduplicate": "STREAMING_DEDUPLICATION_WITHOUT_WATERMARK",
}


def state_never_freed(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Warns of each such operator, unless the flow says that its state may grow.

    `join_without_time_bound` looks at joins. An aggregation in complete mode also rewrites its table in each batch.
    """
    for flow in graph.flows:
        for state in flow.endless:
            if state.operator in _CONDITIONS and not graph.allows_unbounded_state(flow):
                yield _warning(flow, state)


def _warning(flow: ResolvedFlow, state: EndlessState) -> PenstockError:
    facts = {"flow": flow.flow.name}
    if state.operator == "aggregate":
        complete = flow.type is FlowType.COMPLETE
        facts["also"] = " and the table is rewritten in each batch (complete mode)" if complete else ""
    return DefinitionError(
        _CONDITIONS[state.operator],
        location=state.location or flow.flow.location,
        dataset=str(flow.flow.target),
        **facts,
    )
