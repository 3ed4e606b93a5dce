"""A message for Kafka has a value, and somewhere to go."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import FormatSink
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema import Schema

_BYTES = ("string", "binary")
COLUMN_TYPES = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
"""The columns of a message, and what type each may have."""


def kafka_sink_columns(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses queries without `value`, with a column of a wrong type, and without a topic, before a batch fails."""
    for flow in graph.flows:
        sink = graph.sinks.get(flow.declaration.target)
        if not isinstance(sink, FormatSink) or sink.kind != "kafka":
            continue
        for reason, way_out in _problems(sink, flow.schema):
            yield DefinitionError(
                "SINK_COLUMNS_INVALID",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                kind="kafka",
                name=flow.declaration.target,
                reason=reason,
                way_out=way_out,
            )


def _problems(sink: FormatSink, schema: Schema) -> Iterator[tuple[str, str]]:
    columns = {column.name.casefold(): column for column in schema.columns}
    if "value" not in columns:
        yield "its query has no column 'value'", "Select the message as 'value', e.g. to_json(struct('*')) AS value"
    for name, types in COLUMN_TYPES.items():
        if name in columns and columns[name].type not in types:
            got, wanted = columns[name].type, " or ".join(types)
            yield f"its column '{name}' is {got}, not {wanted}", f"Cast '{name}' to {types[0]}"
    if "topic" not in columns and not sink.option("topic"):
        yield "neither the sink nor its query names a topic", "Add the option 'topic', or a column 'topic'"
