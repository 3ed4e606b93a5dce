"""A table's schema as plain data: what Spark's `StructType.json()` says, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GENERATION_EXPRESSION = "delta.generationExpression"
IDENTITY = "delta.identity."


@dataclass(frozen=True, slots=True)
class Column:
    """One top-level column. `type` is Spark's simple string, e.g. `struct<a:int,b:string>`.

    `generated` says how Delta computes it: the expression, `identity`, or None.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    generated: str | None = None

    @property
    def constrained(self) -> bool:
        """Whether Delta refuses or computes values, so that a table must be created with the column."""
        return not self.nullable or self.generated is not None


@dataclass(frozen=True, slots=True)
class Schema:
    """An ordered list of columns, kept as the JSON document of a Spark `StructType`."""

    json: str

    @property
    def fields(self) -> tuple[dict[str, Any], ...]:
        """The top-level columns as Spark's JSON document has them."""
        return tuple(json.loads(self.json)["fields"])

    def field(self, path: Sequence[str]) -> tuple[list[str], Any] | None:
        """Finds a column, or a field in structs, by its path without regard to case.

        Returns the path in the schema's own spelling and the type as Spark's JSON document has it; None where there
        is no such field.
        """
        return _field(self.fields, path)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The top-level columns, in order."""
        return tuple(
            Column(
                name=field["name"],
                type=_simple(field["type"]),
                nullable=field.get("nullable", True),
                comment=field.get("metadata", {}).get("comment"),
                generated=_generated(field.get("metadata", {})),
            )
            for field in self.fields
        )

    @property
    def constrained(self) -> bool:
        """Whether a column is NOT NULL or generated, at the top level."""
        return any(column.constrained for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the top-level columns, in order."""
        return tuple(column.name for column in self.columns)

    def __str__(self) -> str:
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


def _field(fields: Iterable[Mapping[str, Any]], path: Sequence[str]) -> tuple[list[str], Any] | None:
    for field in fields:
        if field["name"].casefold() != path[0].casefold():
            continue
        name, inner = field["name"], field["type"]
        if len(path) == 1:
            return [name], inner
        if isinstance(inner, str) or inner["type"] != "struct":
            return None
        found = _field(inner["fields"], path[1:])
        return None if found is None else ([name, *found[0]], found[1])
    return None


def _generated(metadata: dict[str, Any]) -> str | None:
    if any(name.startswith(IDENTITY) for name in metadata):
        return "identity"
    return metadata.get(GENERATION_EXPRESSION)


def _simple(data_type: str | dict[str, Any]) -> str:
    """Renders one type of the JSON document as Spark's simple string."""
    if isinstance(data_type, str):
        return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(data_type, data_type)
    match data_type["type"]:
        case "struct":
            inner = ",".join(f"{field['name']}:{_simple(field['type'])}" for field in data_type["fields"])
            return f"struct<{inner}>"
        case "array":
            return f"array<{_simple(data_type['elementType'])}>"
        case "map":
            return f"map<{_simple(data_type['keyType'])},{_simple(data_type['valueType'])}>"
        case other:
            return str(other)
