"""The columns of a query are those that its sink can write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from penstock.errors import PenstockError
from penstock.graph.elements import FormatSink
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.rules.sinks import FILE_FORMATS
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sinks.jdbc_target import JdbcTarget
from penstock.graph.sinks.postgres_types import staged_type

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
    return _refused(graph, {"kafka"}, _kafka_problems)


def _kafka_problems(sink: FormatSink, schema: Schema) -> Iterator[tuple[str, str]]:
    columns = {column.name.casefold(): column for column in schema.columns}
    if "value" not in columns:
        yield "its query has no column 'value'", "Select the message as 'value', e.g. to_json(struct('*')) AS value"
    for name, types in COLUMN_TYPES.items():
        if name in columns and columns[name].type not in types:
            got, wanted = columns[name].type, " or ".join(types)
            yield f"its column '{name}' is {got}, not {wanted}", f"Cast '{name}' to {types[0]}"
    if "topic" not in columns and not sink.option("topic"):
        yield "neither the sink nor its query names a topic", "Add the option 'topic', or a column 'topic'"


def jdbc_columns(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses queries without the columns that the sink's options name, and with types that JDBC cannot write."""
    return _refused(graph, {"jdbc"}, _jdbc_problems)


def _jdbc_problems(sink: FormatSink, schema: Schema) -> Iterator[tuple[str, str]]:
    target = JdbcTarget.of(sink)
    names = {column.name.casefold() for column in schema.columns}
    for key in target.keys:
        if key.casefold() not in names:
            yield f"its query has no column '{key}', by which rows are found", f"Select '{key}', or correct keys"
    if target.sequence_by and target.sequence_by.casefold() not in names:
        way_out = f"Select '{target.sequence_by}', or correct sequenceBy"
        yield f"its query has no column '{target.sequence_by}', by which the newest row is known", way_out
    for column in schema.columns:
        if staged_type(column.type) is None:
            way_out = f"Select to_json({column.name}) AS {column.name}: a text goes into a column of type jsonb, too"
            yield f"its column '{column.name}' is {column.type}, which no column of a database takes", way_out


def sink_partition_columns(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `partitionBy` with a column that a flow does not have, and with all of its columns."""
    return _refused(graph, FILE_FORMATS | {"delta"}, _partition_problems)


def _partition_problems(sink: FormatSink, schema: Schema) -> Iterator[tuple[str, str]]:
    names = {column.name.casefold() for column in schema.columns}
    chosen = {name.casefold(): name for name in sink.partition_columns}
    if missing := [name for folded, name in chosen.items() if folded not in names]:
        reason = f"its query has no column '{missing[0]}', by which the files are divided"
        yield reason, f"Select '{missing[0]}', or correct partitionBy"
    elif chosen and names <= chosen.keys():
        reason = "all of its columns are in partitionBy, and nothing would be in the files"
        yield reason, "Leave a column out of partitionBy"


def _refused(
    graph: ResolvedGraph, kinds: Set[str], problems: Callable[[FormatSink, Schema], Iterator[tuple[str, str]]]
) -> Iterator[PenstockError]:
    """Yields what is wrong, as reason and way out, with the columns of the flows into sinks of some kinds."""
    for flow in graph.flows:
        sink = graph.sinks.get(flow.declaration.target)
        if not isinstance(sink, FormatSink) or sink.kind not in kinds:
            continue
        for reason, way_out in problems(sink, flow.schema):
            yield flow.declaration.error(
                "SINK_COLUMNS_INVALID",
                flow=flow.declaration.name,
                kind=sink.kind,
                name=flow.declaration.target,
                reason=reason,
                way_out=way_out,
            )
