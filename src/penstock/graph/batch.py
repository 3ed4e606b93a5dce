"""The pipeline as one batch: what was declared as a stream, computed once over all that there is."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    RESET_ALLOWED,
    Dataset,
    SnapshotChangeFlow,
    StreamingTable,
    Table,
    UndecidedTable,
    UnresolvedFlow,
)

OF_A_BATCH_RUN = "penstock.batch_run"
"""The table property of a streaming table whose rows no checkpoint knows."""


def as_batch(graph: DataflowGraph) -> DataflowGraph:
    """Returns the same pipeline for functions whose streaming reads are answered with batch reads.

    A streaming table keeps its flows, which run once; a `@table` that would have become one turns out to be a
    materialized view, because its query is none of a stream any more. Sinks are left out: what a batch computes, they
    have. Tables with a place of their own lie in the storage of the batch, so that a batch touches none of them.
    """
    return DataflowGraph.of(
        [_as_batch(dataset, graph) for dataset in graph.declared],
        [_runs_once(flow, graph) for flow in graph.flows if flow.target not in graph.sinks],
        event_hooks=graph.event_hooks,
        refused=graph.refused,
        incomplete=graph.incomplete,
        catalog=graph.catalog,
    )


def _as_batch(dataset: Dataset, graph: DataflowGraph) -> Dataset:
    if not isinstance(dataset, Table):
        return dataset
    properties = {key: value for key, value in dataset.table_properties.items() if key != RESET_ALLOWED}
    if _is_filled_by_flows(dataset, graph):
        properties[OF_A_BATCH_RUN] = "true"
    return replace(dataset, table_properties=properties, path=None, output_mode=None, keys=())


def _runs_once(flow: UnresolvedFlow, graph: DataflowGraph) -> UnresolvedFlow:
    if isinstance(flow, SnapshotChangeFlow):
        return flow
    target = graph.get(flow.target)
    once = flow.once or (target is not None and _is_filled_by_flows(target, graph))
    return replace(flow, once=once, updates=False, update_keys=())


def _is_filled_by_flows(dataset: Dataset, graph: DataflowGraph) -> bool:
    """Whether it is a streaming table for sure, because it was declared as one or has several flows."""
    several = isinstance(dataset, UndecidedTable) and len(graph.flows_to(dataset.identifier)) > 1
    return several or isinstance(dataset, StreamingTable)
