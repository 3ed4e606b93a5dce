"""A row for a database has its keys, and nothing that no column of a database takes."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import FormatSink
from penstock.graph.jdbc_target import JdbcTarget
from penstock.graph.postgres_types import staged_type
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema import Schema


def jdbc_columns(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses queries without the columns that the sink's options name, and with types that JDBC cannot write."""
    for flow in graph.flows:
        sink = graph.sinks.get(flow.declaration.target)
        if not isinstance(sink, FormatSink) or sink.kind != "jdbc":
            continue
        for reason, way_out in _problems(JdbcTarget.of(sink), flow.schema):
            yield DefinitionError(
                "SINK_COLUMNS_INVALID",
                location=flow.declaration.location,
                dataset=str(flow.declaration.target),
                flow=flow.declaration.name,
                kind="jdbc",
                name=flow.declaration.target,
                reason=reason,
                way_out=way_out,
            )


def _problems(target: JdbcTarget, schema: Schema) -> Iterator[tuple[str, str]]:
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
