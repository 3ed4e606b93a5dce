"""An output mode, and keys to update by, are for flows that stream into a table."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    ChangeFlow,
    MaterializedView,
    OutputMode,
    SnapshotChangeFlow,
    Table,
    UnresolvedFlow,
    has_uniqueness,
)
from penstock.graph.output_modes import declared_mode

_DROP = "Remove output_mode and keys"


def output_mode_fits(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports output modes and keys that mean nothing where they stand, or contradict what stands beside them."""
    for table in graph.datasets.values():
        if isinstance(table, Table):
            for reason, way_out in _of_table(table, graph.flows_to(table.identifier)):
                yield DefinitionError(
                    "OUTPUT_MODE_CONFLICT",
                    location=table.location,
                    dataset=str(table.identifier),
                    target=table.identifier,
                    reason=reason,
                    way_out=way_out,
                )
    for flow in graph.flows:
        for reason, way_out in _of_flow(graph, flow):
            yield DefinitionError(
                "OUTPUT_MODE_CONFLICT",
                location=flow.location,
                dataset=str(flow.target),
                target=flow.target,
                reason=reason,
                way_out=way_out,
            )


def _of_table(table: Table, flows: tuple[UnresolvedFlow, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(table, MaterializedView):
        if table.output_mode is not None or table.keys:
            yield "a materialized view is computed as a whole, and has no output mode", _DROP
        return
    updated = table.output_mode is OutputMode.UPDATE or any(flow.updates for flow in flows)
    if table.keys and not updated:
        yield "keys say by which columns rows are updated, and no flow updates them", "Add output_mode='update'"
    if updated and has_uniqueness(table):
        yield (
            "expect_unique would take each new value of a row for a repetition, and keys are unique in it anyway",
            "Remove expect_unique, or use output_mode='append'",
        )


def _of_flow(graph: DataflowGraph, flow: UnresolvedFlow) -> Iterator[tuple[str, str]]:
    target = graph.get(flow.target)
    mode = declared_mode(flow, target)
    if flow.target in graph.sinks and flow.update_keys:
        yield f"the flow '{flow.name}' has keys, and a sink finds no rows by them", "Remove keys"
    if not isinstance(target, Table) or isinstance(target, MaterializedView) or mode is None:
        return
    if isinstance(flow, ChangeFlow | SnapshotChangeFlow):
        yield f"the flow '{flow.name}' applies changes by the keys of its own, in no output mode", _DROP
    elif flow.once and mode is not OutputMode.APPEND:
        yield (
            f"the flow '{flow.name}' runs once and adds its rows, which no later row replaces",
            "Remove once=True and read with spark.readStream, or use output_mode='append'",
        )
    elif flow.updates and target.output_mode not in {None, mode}:
        yield (
            f"the flow '{flow.name}' is an update_flow",
            "Declare the table with output_mode='update', or the flow with append_flow",
        )
