"""Each flow has a target that it can fill, and each target a flow."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import ChangeFlow, FormatSink, MaterializedView, SnapshotChangeFlow, TemporaryView
from penstock.graph.identifier import Identifier
from penstock.graph.rules.sinks import FILE_FORMATS
from penstock.graph.sinks.sink_group import flow_refused, groups, members

_KIND_IN_WORDS = {MaterializedView: "materialized view", TemporaryView: "view"}


def flow_target(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports flows whose target does not exist, is a view, or is a materialized view.

    Whether an undecided `@table` turns out to be streaming is known only after analysis.
    """
    for flow in graph.flows:
        if flow.target in graph.sinks:
            continue
        target = graph.get(flow.target)
        if target is None:
            if graph.incomplete or flow.target in graph.refused:
                continue
            yield flow.error(
                "FLOW_TARGET_UNKNOWN", flow=flow.name, target=flow.target, suggestion=_suggestion(graph, flow.target)
            )
        elif (kind := _KIND_IN_WORDS.get(type(target))) and flow.location != target.location:
            yield flow.error("FLOW_TARGET_NOT_STREAMING_TABLE", flow=flow.name, target=flow.target, kind=kind)


def _suggestion(graph: DataflowGraph, target: Identifier) -> str:
    known = (*graph.datasets, *graph.sinks)
    if target.catalog is not None:
        return did_you_mean(str(target), map(str, known))
    return did_you_mean(target.name, (each.name for each in known))


# Delta and the file formats only ever add rows.
_APPEND_ONLY = FILE_FORMATS | {"delta"}


def flow_into_sink(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Refuses `once` flows and change flows into sinks, and update flows into what cannot take an update.

    That a flow into a sink must stream is checked by analysis.
    """
    for flow in graph.flows:
        sink = graph.sinks.get(flow.target)
        if flow.updates and isinstance(sink, FormatSink) and sink.kind in _APPEND_ONLY:
            reason = f"is a {sink.kind} sink, to which rows can only be added"
            way_out = "Write to a streaming table, which merges them, or use append_flow"
        elif flow.updates and isinstance(sink, FormatSink) and sink.kind == "jdbc" and not sink.option("keys"):
            reason = "is a jdbc sink that appends, and a row that changes would be there twice"
            way_out = "Give it the options 'mode': 'upsert' and 'keys'"
        elif flow.once and sink is not None:
            reason = "is a sink, and only a table records that a flow with once=True already ran"
            way_out = "Append to a streaming table, and let a streaming flow take its rows to the sink"
        elif isinstance(flow, ChangeFlow | SnapshotChangeFlow) and sink is not None:
            reason = "is a sink, and changes can be applied by key to a table only"
            way_out = "Apply them to a streaming table, or MERGE them in a foreach_batch_sink"
        else:
            continue
        yield flow_refused(flow, reason, way_out)


def dataset_without_flow(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each table and sink that no flow writes to, as a `create_streaming_table` without an `append_flow`."""
    filled = {flow.target for flow in graph.flows}
    filled |= {member for group in groups(graph.sinks.values()) for member in members(group)}
    kinds = [
        *((table, "streaming table") for table in graph.tables),
        *((sink, "sink") for sink in graph.sinks.values()),
    ]
    for target, kind in kinds:
        if target.identifier in filled or target.identifier in graph.refused or graph.incomplete:
            continue
        yield target.error("PIPELINE_DATASET_WITHOUT_FLOW", identifier=target.identifier, kind=kind)


_TRIGGER_KEYS = ("pipelines.trigger", "pipelines.trigger.interval")


def once_flow_trigger(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports trigger settings on `once` flows, which could only be ignored.

    That a `once` flow must be a batch query is checked by analysis.
    """
    for flow in graph.flows:
        if not flow.once:
            continue
        for key in flow.spark_conf:
            if key in _TRIGGER_KEYS:
                yield flow.error("ONCE_FLOW_WITH_TRIGGER", flow=flow.name, key=key)


def empty_pipeline(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports a pipeline that declares neither a stored dataset nor a sink; views alone are never computed."""
    if not graph.tables and not graph.sinks and not graph.refused and not graph.incomplete:
        yield DefinitionError("RUN_EMPTY_PIPELINE")
