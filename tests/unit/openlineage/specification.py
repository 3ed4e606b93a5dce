"""What OpenLineage allows in an event: the JSON Schema of the specification, from `spec` (see VENDORED.md there)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

SPEC = Path(__file__).parent / "spec"


def violations(event: dict[str, Any]) -> list[str]:
    """Returns what is wrong with an event as it is sent, and with its facets, each by the version that it names."""
    found = [*_errors(event["schemaURL"], event)]
    for facet in facets_of(event):
        found += _errors(facet["_schemaURL"], facet)
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


def _errors(reference: str, value: Any) -> Iterator[str]:
    validator = jsonschema.Draft202012Validator(
        {"$ref": reference}, registry=_schemas(), format_checker=jsonschema.FormatChecker()
    )
    try:
        for error in validator.iter_errors(value):
            yield f"{reference} {error.json_path}: {error.message}"
    except Unresolvable as error:
        yield f"{reference} is not in {SPEC.name}: {error}"


@cache
def _schemas() -> Registry[Any]:
    """Returns the schemas by their ids; nothing is fetched."""
    documents = [json.loads(file.read_text()) for file in SPEC.rglob("*.json")]
    empty: Registry[Any] = Registry()
    return empty.with_contents((document["$id"], document) for document in documents)
