"""`cluster_by=["`unit.price`"]`: a name with a dot is that of a field, unless a column has it."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.elements import MaterializedView, StreamingTable
from penstock.graph.schema import Schema
from penstock.graph.sql_names import name_parts, quoted


def with_cluster_columns(table: StreamingTable | MaterializedView, schema: Schema) -> StreamingTable | MaterializedView:
    """Returns the table with each column of `cluster_by` spelt so that its dots separate the fields of structs.

    A column can be given with backquotes or without; what names no column stays as it is written.
    """
    known = {name.casefold() for name in schema.names}

    def spelt(name: str) -> str:
        parts = name_parts(name)
        column = parts[0] if len(parts) == 1 else name
        if column.casefold() not in known:
            return name
        return quoted(column) if {".", "`"} & set(column) else column

    return replace(table, cluster_by=tuple(map(spelt, table.cluster_by))) if table.cluster_by else table
