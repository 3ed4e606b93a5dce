"""A table's schema as plain data: what Spark's `StructType.json()` says, without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """One top-level column. `type` is Spark's simple string, e.g. `struct<a:int,b:string>`."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """An ordered list of columns, kept as the JSON document of a Spark `StructType`."""

    json: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The top-level columns, in order."""
        return tuple(
            Column(
                name=field["name"],
                type=_simple(field["type"]),
                nullable=field.get("nullable", True),
                comment=field.get("metadata", {}).get("comment"),
            )
            for field in json.loads(self.json)["fields"]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the top-level columns, in order."""
        return tuple(column.name for column in self.columns)

    def __str__(self) -> str:
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


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
