"""A folder of files takes the batches of one flow."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import FormatSink, UnresolvedFlow

FILE_FORMATS = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})


def file_sink_shared(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Refuses a second flow into a folder: its log knows batches by number only, so one flow's would be skipped."""
    first_by_path: dict[str, UnresolvedFlow] = {}
    for flow in graph.flows:
        sink = graph.sinks.get(flow.target)
        if not isinstance(sink, FormatSink) or sink.kind not in FILE_FORMATS or not (path := sink.option("path")):
            continue
        first = first_by_path.setdefault(path.rstrip("/"), flow)
        if first is not flow:
            yield DefinitionError(
                "FILE_SINK_SHARED",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                first=first.name,
                path=path,
            )
