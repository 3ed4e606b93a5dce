"""What a query and a declared schema do not have in common: columns, and fields of structs wherever they are nested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.errors import DefinitionError, did_you_mean
from penstock.graph.elements import UnresolvedFlow
from penstock.graph.schema.table_schema import Schema

_INNER = {"elementType": "element", "keyType": "key", "valueType": "value"}


def undeclared_columns(query: Schema, declared: Schema) -> Iterator[str]:
    """Yields the paths, such as `pos.alt` or `items.element.size`, of what the query has and the schema does not."""
    yield from _lacking(query.fields, declared.fields, "", required=False)


def undeclared_column(column: str, flow: UnresolvedFlow, declared: Schema) -> DefinitionError:
    """Returns COLUMN_NOT_IN_DECLARED_SCHEMA for a path that `undeclared_columns` gives."""
    return flow.error(
        "COLUMN_NOT_IN_DECLARED_SCHEMA",
        column=column,
        suggestion=did_you_mean(column, declared.names, also=f"Declared: {declared}."),
    )


def unfilled_columns(query: Schema, declared: Schema) -> Iterator[str]:
    """Yields the paths of what the schema declares NOT NULL, Delta does not generate and the query does not have."""
    generated = {column.name for column in declared.columns if column.generated is not None}
    fields = [field for field in declared.fields if field["name"] not in generated]
    yield from _lacking(fields, query.fields, "", required=True)


def _lacking(
    fields: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], path: str, *, required: bool
) -> Iterator[str]:
    """The paths of `fields` that are not among `others`; with `required` those only that cannot be NULL."""
    there = {field["name"].casefold(): field["type"] for field in others}
    for field in fields:
        name = f"{path}{field['name']}"
        if field["name"].casefold() in there:
            yield from _inside(field["type"], there[field["name"].casefold()], name, required=required)
        elif not required or not field.get("nullable", True):
            yield name


def _inside(kind: Any, other: Any, path: str, *, required: bool) -> Iterator[str]:
    if not isinstance(kind, dict) or not isinstance(other, dict) or kind["type"] != other["type"]:
        return
    if kind["type"] == "struct":
        yield from _lacking(kind["fields"], other["fields"], f"{path}.", required=required)
    for key, name in _INNER.items():
        if key in kind:
            yield from _inside(kind[key], other[key], f"{path}.{name}", required=required)
