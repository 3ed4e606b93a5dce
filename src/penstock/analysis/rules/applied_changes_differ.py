"""All flows that apply changes to one table mean the same rows and the same order."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import AppliedChanges, ResolvedGraph


def applied_changes_differ(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses flows into one target whose keys, sequences or partial updates differ: events could not be compared."""
    for identifier in graph.tables:
        flows = [flow for flow in graph.flows_to(identifier) if flow.changes is not None]
        for flow in flows[1:]:
            first, other = flows[0].changes, flow.changes
            assert first is not None
            assert other is not None
            for what, left, right in _differences(first, other):
                yield DefinitionError(
                    "CHANGE_FLOWS_DISAGREE",
                    location=flow.declaration.location,
                    dataset=str(identifier),
                    target=identifier,
                    what=what,
                    first=flows[0].declaration.name,
                    first_value=left,
                    second=flow.declaration.name,
                    second_value=right,
                )


def _differences(first: AppliedChanges, other: AppliedChanges) -> Iterator[tuple[str, str, str]]:
    pairs = (
        ("the keys", first.keys, other.keys),
        ("the type of the sequence", (first.sequence_type,), (other.sequence_type,)),
        ("the columns whose NULLs are ignored", first.ignoring, other.ignoring),
        ("whether events name the columns that they update", _answer(first.partial), _answer(other.partial)),
    )
    for what, left, right in pairs:
        if {each.casefold() for each in left} != {each.casefold() for each in right}:
            yield what, ", ".join(left) or "none", ", ".join(right) or "none"


def _answer(given: bool) -> tuple[str]:
    return ("columns_to_update",) if given else ("none",)
