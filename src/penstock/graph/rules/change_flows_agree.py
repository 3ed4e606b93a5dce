"""All flows into a table whose rows change keep it the same way."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import ChangeFlow, Dataset, OutputMode, SnapshotChangeFlow, UnresolvedFlow
from penstock.graph.output_modes import declared_mode


def change_flows_agree(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports targets of several flows that differ in kind, SCD type or keys, or that share snapshots.

    Rows that were appended have no key and no sequence, and a snapshot deletes what it does not hold.
    """
    for target in dict.fromkeys(flow.target for flow in graph.flows):
        first, *others = graph.flows_to(target)
        for flow in others:
            for what, left, right in _differences(first, flow, graph.get(target)):
                yield DefinitionError(
                    "CHANGE_FLOWS_DISAGREE",
                    location=flow.location,
                    dataset=str(target),
                    target=target,
                    what=what,
                    first=first.name,
                    first_value=left,
                    second=flow.name,
                    second_value=right,
                )


def _differences(
    first: UnresolvedFlow, second: UnresolvedFlow, target: Dataset | None
) -> Iterator[tuple[str, object, object]]:
    kinds = _kind(first, target), _kind(second, target)
    if kinds[0] != kinds[1]:
        yield "how they write", *kinds
    elif isinstance(first, SnapshotChangeFlow):
        yield "which rows exist", "whole snapshots", "other whole snapshots"
    elif isinstance(first, ChangeFlow) and isinstance(second, ChangeFlow):
        if first.scd_type != second.scd_type:
            yield "the SCD type", first.scd_type, second.scd_type
        keys = _named_keys(first), _named_keys(second)
        if keys[0] and keys[1] and keys[0] != keys[1]:
            yield "the keys", ", ".join(keys[0]), ", ".join(keys[1])


def _kind(flow: UnresolvedFlow, target: Dataset | None) -> str:
    match flow:
        case ChangeFlow():
            return "changes by key"
        case SnapshotChangeFlow():
            return "differences of snapshots"
        case _ if target is not None and declared_mode(flow, target) is OutputMode.UPDATE:
            return "rows updated by key"
        case _:
            return "appended rows"


def _named_keys(flow: ChangeFlow) -> tuple[str, ...]:
    """The keys, when all of them are text; those that are Spark Columns are compared by analysis."""
    texts = [key.casefold() for key in flow.keys if isinstance(key, str)]
    return tuple(sorted(texts)) if len(texts) == len(flow.keys) else ()
