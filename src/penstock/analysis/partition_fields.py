"""`partition_cols=["window.start"]`: Delta partitions by columns, and a field of a struct is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from penstock.graph.elements import MaterializedView, StreamingTable
from penstock.graph.schema import GENERATION_EXPRESSION, Schema
from penstock.graph.sql_names import quoted


def with_partition_fields(
    table: StreamingTable | MaterializedView, schema: Schema
) -> tuple[StreamingTable | MaterializedView, Schema]:
    """Returns the table partitioned by columns, and its schema with a generated column for each field among them.

    `window.start` becomes `window_start`, which Delta computes, and by which it leaves out files when a reader filters
    by the field. A column of that name that the query has itself is taken as it is. What is no field stays as it is
    written.
    """
    if not table.partition_columns:
        return table, schema
    known = {name.casefold() for name in schema.names}
    columns: list[str] = []
    added: list[dict[str, Any]] = []
    for name in table.partition_columns:
        found = None if name.casefold() in known else schema.field(name.split("."))
        if found is None or not isinstance(found[1], str):
            columns.append(name)
            continue
        path, kind = found
        columns.append("_".join(path))
        if columns[-1].casefold() not in known:
            metadata = {GENERATION_EXPRESSION: ".".join(quoted(part) for part in path)}
            added.append({"name": columns[-1], "type": kind, "nullable": True, "metadata": metadata})
    decided = replace(table, partition_columns=tuple(columns))
    if not added:
        return decided, schema
    wider = {"type": "struct", "fields": [*schema.fields, *added]}
    return decided, Schema(json.dumps(wider, separators=(",", ":"), sort_keys=True))
