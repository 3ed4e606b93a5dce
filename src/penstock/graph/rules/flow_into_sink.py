"""A sink takes append flows, and update flows where it can take an update."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import ChangeFlow, FormatSink, SnapshotChangeFlow
from penstock.graph.sink_refusals import flow_refused

# Delta and the file formats only ever add rows.
_APPEND_ONLY = frozenset({"avro", "csv", "delta", "json", "orc", "parquet", "text", "xml"})


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
            reason = "is a sink, and only a table can tell that a flow with once=True already ran"
            way_out = "Append to a streaming table, and let a streaming flow take its rows to the sink"
        elif isinstance(flow, ChangeFlow | SnapshotChangeFlow) and sink is not None:
            reason = "is a sink, and changes can be applied by key to a table only"
            way_out = "Apply them to a streaming table, or MERGE them in a foreach_batch_sink"
        else:
            continue
        yield flow_refused(flow, reason, way_out)
