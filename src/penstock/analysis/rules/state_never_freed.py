"""State that no watermark frees grows for ever."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.flow_type import FlowType
from penstock.graph.resolved import EndlessState, ResolvedFlow, ResolvedGraph
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN, UNBOUNDED_STATE


def state_never_freed(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Finds each such operator, unless the flow says that its state may grow: a warning, an error of a strict pipeline.

    An aggregation in complete mode also rewrites its table in each batch.
    """
    for flow in graph.flows:
        for state in flow.endless:
            if state.operator in UNBOUNDED_STATE and not graph.allows_unbounded_state(flow):
                yield _warning(flow, state)


def _warning(flow: ResolvedFlow, state: EndlessState) -> PenstockError:
    facts = {"flow": flow.declaration.name, "size": SIZE_NOT_KNOWN[state.operator]}
    if state.operator == "aggregate":
        complete = flow.type is FlowType.COMPLETE
        facts["also"] = " and the table is rewritten in each batch (complete mode)" if complete else ""
    return DefinitionError(
        UNBOUNDED_STATE[state.operator],
        location=state.location or flow.declaration.location,
        dataset=str(flow.declaration.target),
        **facts,
    )
