"""The columns by which a sink's files are divided are in its rows, and not all there is."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import FormatSink
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.rules.file_sink_shared import FILE_FORMATS


def sink_partition_columns(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `partitionBy` with a column that a flow does not have, and with all of its columns."""
    for flow in graph.flows:
        sink = graph.sinks.get(flow.declaration.target)
        if not isinstance(sink, FormatSink) or sink.kind not in FILE_FORMATS | {"delta"}:
            continue
        names = {column.name.casefold() for column in flow.schema.columns}
        chosen = {name.casefold(): name for name in sink.partition_columns}
        if missing := [name for folded, name in chosen.items() if folded not in names]:
            reason = f"its query has no column '{missing[0]}', by which the files are divided"
            way_out = f"Select '{missing[0]}', or correct partitionBy"
        elif chosen and names <= chosen.keys():
            reason = "all of its columns are in partitionBy, and nothing would be in the files"
            way_out = "Leave a column out of partitionBy"
        else:
            continue
        yield DefinitionError(
            "SINK_COLUMNS_INVALID",
            location=flow.declaration.location,
            dataset=str(flow.declaration.target),
            flow=flow.declaration.name,
            kind=sink.kind,
            name=flow.declaration.target,
            reason=reason,
            way_out=way_out,
        )
