"""State of the user's own is kept in RocksDB only."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.stream_definition import STATE_STORE

_OPERATOR = "transformWithState"
_NEEDED = ".RocksDBStateStoreProvider"


def own_state_store(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses another state store before Spark does, in the middle of a run."""
    for flow in graph.flows:
        chosen = None if flow.stream is None else flow.stream.settings.get(STATE_STORE)
        if _OPERATOR in flow.stateful and chosen is not None and not chosen.endswith(_NEEDED):
            yield DefinitionError(
                "STATE_STORE_NOT_SUPPORTED",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                provider=chosen,
            )
