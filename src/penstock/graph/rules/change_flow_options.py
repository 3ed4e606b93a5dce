"""The options of a change flow fit together."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import TOMBSTONE_SECONDS, ChangeFlow, Dataset, SnapshotChangeFlow, Table


def change_flow_options(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports change flows without keys, and options that the SCD type does not have."""
    for flow in graph.flows:
        if not isinstance(flow, (ChangeFlow, SnapshotChangeFlow)):
            continue
        if not flow.keys:
            yield DefinitionError(
                "AUTOCDC_EMPTY_KEYS",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                target=flow.target,
            )
        for reason, way_out in (*_conflicts(flow), *_unclear_properties(graph.get(flow.target))):
            yield DefinitionError(
                "CHANGE_FLOW_OPTION_CONFLICT",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                target=flow.target,
                reason=reason,
                way_out=way_out,
            )


def _conflicts(flow: ChangeFlow | SnapshotChangeFlow) -> Iterator[tuple[str, str]]:
    if flow.scd_type == 1 and flow.track_history is not None:
        yield (
            "it tracks the history of columns, but SCD type 1 keeps no history",
            "Use stored_as_scd_type=2, or remove the columns whose history is tracked",
        )
    if isinstance(flow, ChangeFlow) and flow.scd_type == 2 and flow.apply_as_truncates is not None:
        yield (
            "it truncates, but SCD type 2 keeps the history of every row",
            "Use stored_as_scd_type=1, or delete the rows one by one with apply_as_deletes",
        )
    if isinstance(flow, ChangeFlow) and flow.columns_to_update is not None and flow.ignore_null_updates is not None:
        yield (
            "it ignores NULLs, and its events name the columns that they update, NULLs included",
            "Remove columns_to_update, or what ignores NULLs",
        )


def _unclear_properties(target: Dataset | None) -> Iterator[tuple[str, str]]:
    value = target.table_properties.get(TOMBSTONE_SECONDS) if isinstance(target, Table) else None
    if value is not None and not value.isdecimal():
        yield (
            f"the property {TOMBSTONE_SECONDS} of its target is no number of seconds",
            f"Write a whole number, for example {TOMBSTONE_SECONDS}=172800",
        )
