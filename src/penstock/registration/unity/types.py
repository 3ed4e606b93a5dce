"""Types of columns as Unity Catalog's API spells them: Spark's JSON documents with other names of the fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from penstock.graph.schema.table_schema import Schema

_OF_API: Final = {
    "elementType": "element-type",
    "containsNull": "contains-null",
    "keyType": "key-type",
    "valueType": "value-type",
    "valueContainsNull": "value-contains-null",
}
_OF_SPARK: Final = {of_api: of_spark for of_spark, of_api in _OF_API.items()}
_INNER: Final = ("elementType", "keyType", "valueType", "element-type", "key-type", "value-type")


def columns_for_api(schema: Schema) -> dict[str, Any]:
    """Returns a schema as a `DeltaStructType`."""
    made: dict[str, Any] = _renamed(json.loads(schema.json), _OF_API)
    return made


def columns_of_api(struct: Mapping[str, Any]) -> Schema:
    """Returns the schema of a `DeltaStructType`.

    Raises:
        KeyError, TypeError, AttributeError: it is none.
    """
    return Schema(json.dumps({"type": "struct", **_renamed(struct, _OF_SPARK)}))


def _renamed(kind: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(kind, Mapping):
        return kind
    made = {names.get(key, key): _renamed(value, names) if key in _INNER else value for key, value in kind.items()}
    if "fields" in made:
        made["fields"] = [{**field, "type": _renamed(field["type"], names)} for field in made["fields"]]
    return made
