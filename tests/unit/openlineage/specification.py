"""What OpenLineage allows in an event.

`violations` judges by the classes that openlineage-python has generated from the specification. With the folder `spec`
of the specification's repository in OPENLINEAGE_SPEC it judges by its JSON Schema as well.
"""

from __future__ import annotations

import json
import os
import types
import typing
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import attr
import jsonschema
from openlineage.client import facet_v2
from openlineage.client.event_v2 import RunEvent
from referencing import Registry

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def violations(event: dict[str, Any]) -> list[str]:
    """Returns what is wrong with a RunEvent as it is sent."""
    found = [*_errors(_of_class(RunEvent), event)]
    for facet in facets_of(event):
        name = facet["_schemaURL"].rpartition("/")[2]
        found += _errors(_of_class(_facet_classes()[name]), facet)
    if "OPENLINEAGE_SPEC" in os.environ:
        found += _by_json_schema(event, Path(os.environ["OPENLINEAGE_SPEC"]))
    return found


def facets_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yields every facet of an event, however deep."""
    if isinstance(value, dict):
        if "_schemaURL" in value:
            yield value
        for inner in value.values():
            yield from facets_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from facets_of(inner)


def _errors(schema: dict[str, Any], value: Any) -> Iterator[str]:
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    for error in validator.iter_errors(value):
        yield f"{error.json_path}: {error.message}"


def _of_class(kind: type[Any], inside: frozenset[type[Any]] = frozenset()) -> dict[str, Any]:
    """Returns the JSON Schema of a generated class; facets are judged by their own, and a class in itself is open."""
    if kind in inside:
        return {"type": "object"}
    attr.resolve_types(kind)
    fields = attr.fields(kind)
    return {
        "type": "object",
        "properties": {field.name: _of_type(field.type, inside | {kind}) for field in fields},
        "required": [field.name for field in fields if field.default is attr.NOTHING],
        "additionalProperties": False,
    }


def _of_type(kind: Any, inside: frozenset[type[Any]]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin in {types.UnionType, typing.Union}:
        return {"anyOf": [_of_type(each, inside) for each in arguments]}
    if origin is list:
        return {"type": "array", "items": _of_type(arguments[0], inside)}
    if origin is dict:
        inner = {"type": "object"} if _is_facet(arguments[1]) else _of_type(arguments[1], inside)
        return {"type": "object", "additionalProperties": inner}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return _of_class(kind, inside) if attr.has(kind) else {}


def _is_facet(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, facet_v2.BaseFacet)


def _facet_classes() -> dict[str, type[Any]]:
    modules = [module for module in vars(facet_v2).values() if isinstance(module, types.ModuleType)]
    return {name: kind for module in modules for name, kind in vars(module).items() if _is_facet(kind)}


def _by_json_schema(event: dict[str, Any], folder: Path) -> Iterator[str]:
    core, registry = _schemas(folder)
    facets = [(facet, _in_folder(facet, registry)) for facet in facets_of(event)]
    for value, reference in [(event, f"{core}#/$defs/RunEvent"), *facets]:
        validator = jsonschema.Draft202012Validator({"$ref": reference}, registry=registry)
        for error in validator.iter_errors(value):
            yield f"{reference} {error.json_path}: {error.message}"


@cache
def _schemas(folder: Path) -> tuple[str, Any]:
    """Returns the id of the specification's core, and all of its schemas; facets may refer to older cores."""
    core = json.loads((folder / "OpenLineage.json").read_text())
    documents = {core["$id"]: core, "https://openlineage.io/spec/2-0-2/OpenLineage.json": core}
    for file in (folder / "facets").glob("*.json"):
        document = json.loads(file.read_text())
        documents[document["$id"]] = document
    registry: Registry[Any] = Registry()
    return core["$id"], registry.with_contents(documents.items())


def _in_folder(facet: dict[str, Any], registry: Any) -> str:
    """Returns the facet's schema in the folder, whose version may be a newer one."""
    address, _, fragment = facet["_schemaURL"].partition("#")
    file = address.rpartition("/")[2]
    return next(f"{known}#{fragment}" for known in registry if known.endswith(f"/{file}"))
