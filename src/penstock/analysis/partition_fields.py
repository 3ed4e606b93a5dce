"""`partition_cols=["window.start"]`: Delta partitions by columns, and a field of a struct is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from penstock.graph.elements import Table
from penstock.graph.schema import GENERATION_EXPRESSION, Schema
from penstock.graph.sql_names import quoted

AnyTable = TypeVar("AnyTable", bound=Table)


def with_partition_fields(table: AnyTable, schema: Schema) -> tuple[AnyTable, Schema]:
    """Returns the table partitioned by columns, and its schema with a generated column for each field among them.

    `window.start` becomes `window_start`, which Delta computes, and by which it leaves out files when a reader filters
    by the field. A column of that name that the query has itself is taken as it is. What is no field stays as it is
    written.
    """
    known = {name.casefold() for name in schema.names}
    columns: list[str] = []
    added: list[dict[str, Any]] = []
    for name in table.partition_columns:
        found = None if name.casefold() in known else _field(json.loads(schema.json), name.split("."))
        if found is None:
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


def _field(data_type: Mapping[str, Any] | str, path: Sequence[str]) -> tuple[list[str], str] | None:
    """The path of a field in the schema's own spelling, and its type; None for a struct, and without such a field."""
    if not path:
        return ([], data_type) if isinstance(data_type, str) else None
    if isinstance(data_type, str) or data_type["type"] != "struct":
        return None
    for field in data_type["fields"]:
        if field["name"].casefold() == path[0].casefold():
            found = _field(field["type"], path[1:])
            return None if found is None else ([field["name"], *found[0]], found[1])
    return None
