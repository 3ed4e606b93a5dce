"""Flows that change rows of their target: their options and output modes fit together and to the target."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    TOMBSTONE_SECONDS,
    ChangeFlow,
    Dataset,
    MaterializedView,
    OutputMode,
    SnapshotChangeFlow,
    Table,
    UnresolvedFlow,
    declared_mode,
    has_uniqueness,
)
from penstock.graph.identifier import Identifier


def change_flow_options(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports change flows without keys, and options that the SCD type does not have."""
    for flow in graph.flows:
        if not isinstance(flow, (ChangeFlow, SnapshotChangeFlow)):
            continue
        if not flow.keys:
            yield flow.error("AUTOCDC_EMPTY_KEYS", flow=flow.name, target=flow.target)
        for reason, way_out in (*_option_conflicts(flow), *_unclear_properties(graph.get(flow.target))):
            yield flow.error(
                "CHANGE_FLOW_OPTION_CONFLICT", flow=flow.name, target=flow.target, reason=reason, way_out=way_out
            )


def _option_conflicts(flow: ChangeFlow | SnapshotChangeFlow) -> Iterator[tuple[str, str]]:
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


def change_flows_agree(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports targets of several flows that differ in kind, SCD type or keys, or that share snapshots.

    Rows that were appended have no key and no sequence, and a snapshot deletes what it does not hold.
    """
    for target in dict.fromkeys(flow.target for flow in graph.flows):
        first, *others = graph.flows_to(target)
        for flow in others:
            for what, left, right in _differences(first, flow, graph.get(target)):
                yield disagreement(target, what, (first, left), (flow, right))


def disagreement(
    target: Identifier, what: str, first: tuple[UnresolvedFlow, object], second: tuple[UnresolvedFlow, object]
) -> DefinitionError:
    """Returns CHANGE_FLOWS_DISAGREE about two flows into `target`, each with its value of `what`."""
    return DefinitionError(
        "CHANGE_FLOWS_DISAGREE",
        location=second[0].location,
        dataset=str(target),
        target=target,
        what=what,
        first=first[0].name,
        first_value=first[1],
        second=second[0].name,
        second_value=second[1],
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


# An output mode, and keys to update by, are for flows that stream into a table.
_DROP_MODE = "Remove output_mode and keys"


def output_mode_fits(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports output modes and keys that mean nothing where they stand, or contradict what stands beside them."""
    for table in graph.datasets.values():
        if isinstance(table, Table):
            for reason, way_out in _mode_of_table(table, graph.flows_to(table.identifier)):
                yield table.error("OUTPUT_MODE_CONFLICT", target=table.identifier, reason=reason, way_out=way_out)
    for flow in graph.flows:
        for reason, way_out in _mode_of_flow(graph, flow):
            yield flow.error("OUTPUT_MODE_CONFLICT", target=flow.target, reason=reason, way_out=way_out)


def _mode_of_table(table: Table, flows: tuple[UnresolvedFlow, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(table, MaterializedView):
        if table.output_mode is not None or table.keys:
            yield "a materialized view is computed as a whole, and has no output mode", _DROP_MODE
        return
    updated = table.output_mode is OutputMode.UPDATE or any(flow.updates for flow in flows)
    if table.keys and not updated:
        yield "keys say by which columns rows are updated, and no flow updates them", "Add output_mode='update'"
    if updated and has_uniqueness(table):
        yield (
            "expect_unique would take each new value of a row for a repetition, and keys are unique in it anyway",
            "Remove expect_unique, or use output_mode='append'",
        )


def _mode_of_flow(graph: DataflowGraph, flow: UnresolvedFlow) -> Iterator[tuple[str, str]]:
    target = graph.get(flow.target)
    mode = declared_mode(flow, target)
    if flow.target in graph.sinks and flow.update_keys:
        yield f"the flow '{flow.name}' has keys, and a sink finds no rows by them", "Remove keys"
    if not isinstance(target, Table) or isinstance(target, MaterializedView) or mode is None:
        return
    if isinstance(flow, ChangeFlow | SnapshotChangeFlow):
        yield f"the flow '{flow.name}' applies changes by the keys of its own, in no output mode", _DROP_MODE
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
