"""The JSON Schema of `penstock.yml`, for editors; made from the table of keys."""

from __future__ import annotations

import json
from typing import Any, assert_never

from penstock.config.keys import PENSTOCK
from penstock.config.shapes import (
    Count,
    Flag,
    Foreign,
    Key,
    ListOf,
    MapOf,
    Scalar,
    Section,
    Shape,
    Text,
    TextList,
    TextMap,
    TriggerText,
)


def render_json_schema() -> str:
    """Returns the text of `penstock.schema.json`."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "penstock.yml",
        "description": "The settings of a Penstock pipeline.",
        **_of(PENSTOCK),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _of(shape: Shape) -> dict[str, Any]:
    match shape:
        case Text():
            return {"type": "string"} | _pattern(shape.pattern)
        case Flag():
            return {"type": "boolean"}
        case Count():
            return {"type": "integer", "minimum": 0}
        case Scalar():
            return {"type": ["string", "number"]}
        case TextList():
            return {"type": "array", "items": _text(None), "minItems": 1}
        case TextMap():
            return {"type": ["object", "null"], "additionalProperties": _text(shape.pattern)}
        case TriggerText():
            return _TRIGGER
        case Foreign():
            return {}
        case Section():
            return _section(shape)
        case ListOf():
            return {"type": ["array", "null"], "items": _of(shape.item)}
        case MapOf():
            return {"type": ["object", "null"], "additionalProperties": _of(shape.item)}
        case _:
            assert_never(shape)


def _section(section: Section) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for key in section.keys:
        properties[key.name] = _described(key)
        for alias in key.aliases:
            properties[alias] = _of(key.shape) | {"description": f"Another name of '{key.name}'."}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [key.name for key in section.keys if key.required and not key.unless]
    if required:
        schema["required"] = required
    for key in section.keys:
        if key.required and key.unless:
            schema["anyOf"] = [{"required": [key.name]}, {"required": [key.unless]}]
    if section.one_of:
        schema |= {"minProperties": 1, "maxProperties": 1}
    return schema


def _described(key: Key) -> dict[str, Any]:
    default = f" Default: {key.default}." if key.default else ""
    return _of(key.shape) | {"description": f"{key.description}{default} Example: {key.example}"}


def _text(pattern: str | None) -> dict[str, Any]:
    """A value of a text map; without a pattern, numbers and true/false are kept as they are written."""
    return {"type": "string"} | _pattern(pattern) if pattern else {"type": ["string", "number", "boolean"]}


def _pattern(pattern: str | None) -> dict[str, str]:
    return {"pattern": f"^(?:{pattern})$"} if pattern else {}


_TRIGGER: dict[str, Any] = {
    "oneOf": [
        {"type": "string", "examples": ["available_now", "once", "real_time", "10 seconds"]},
        {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("processing_time", "real_time")},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        },
    ]
}
