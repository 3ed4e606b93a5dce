"""What a table whose rows change by key remembers of its flows, and what must not change under its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.graph.elements import Table
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import AppliedChanges, ResolvedGraph
from penstock.plan.state import TableState

CHANGE_FEED = "delta.enableChangeDataFeed"
LAYOUT: Mapping[str, str] = {
    "delta.enableDeletionVectors": "true",  # a MERGE writes the rows that changed, and not every file that has one
    "delta.autoOptimize.autoCompact": "true",  # and what it wrote is put together once it is many files
}
"""Properties of a table that is changed by key in every batch; they are the first that its own ones override."""
_PREFIX = "penstock.cdc."
_WORDS = {
    "keys": "the keys",
    "scd_type": "the SCD type",
    "sequence_type": "the type of the sequence",
    "partial": "whether events name the columns that they update",
    "keeps_rows": "what is remembered of older events (SCD type 2 and ignore_null_updates need more)",
}


def change_properties(graph: ResolvedGraph, identifier: Identifier) -> dict[str, str]:
    """Returns the table properties of a table whose rows change by key: its change feed and layout.

    Of a target of change flows also what it depends on. Empty for every other table.
    """
    applied = _applied(graph, identifier)
    if applied is None:
        updated = any(flow.keys is not None for flow in graph.flows_to(identifier))
        return {CHANGE_FEED: "true", **LAYOUT} if updated else {}
    facts = {
        "keys": ", ".join(sorted(applied.keys)),
        "scd_type": str(applied.scd_type),
        "sequence_type": applied.sequence_type,
        "keeps_rows": str(applied.keeps_rows).lower(),
    }
    if applied.partial:
        facts["partial"] = "true"
    return {CHANGE_FEED: "true", **LAYOUT} | {_PREFIX + name: value for name, value in facts.items()}


def check_changes(graph: ResolvedGraph, table: Table, existing: TableState) -> None:
    """Refuses to go on over rows that were computed with other keys, or another SCD type or type of sequence.

    Raises:
        StateError: CHANGE_CAPTURE_CHANGED, for the first thing that differs.
    """
    wanted = change_properties(graph, table.identifier)
    for name, was, now in _differences(wanted, existing.properties):
        raise table.refusal("CHANGE_CAPTURE_CHANGED", what=_WORDS[name], was=was, now=now)


def _differences(wanted: Mapping[str, str], existing: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name in _WORDS:
        was, now = existing.get(_PREFIX + name, "none"), wanted.get(_PREFIX + name, "none")
        if was != now:
            yield name, was, now


def _applied(graph: ResolvedGraph, identifier: Identifier) -> AppliedChanges | None:
    return next((flow.changes for flow in graph.flows_to(identifier) if flow.changes is not None), None)
