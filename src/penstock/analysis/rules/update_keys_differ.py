"""All flows that update a table find its rows by the same columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph


def update_keys_differ(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Reports update flows into one table whose keys, declared or found in their queries, differ."""
    for identifier in graph.tables:
        updating = [flow for flow in graph.flows_to(identifier) if flow.keys is not None]
        for first, flow in pairwise(updating):
            if _keys(first) != _keys(flow):
                yield DefinitionError(
                    "CHANGE_FLOWS_DISAGREE",
                    location=flow.declaration.location,
                    dataset=str(identifier),
                    target=identifier,
                    what="the keys",
                    first=first.declaration.name,
                    first_value=", ".join(_keys(first)) or "none",
                    second=flow.declaration.name,
                    second_value=", ".join(_keys(flow)) or "none",
                )


def _keys(flow: ResolvedFlow) -> list[str]:
    return sorted(key.casefold() for key in (flow.keys.columns if flow.keys is not None else ()))
