"""What a writer's Avro schema has that a reader's has not, and what the two mean differently.

Avro's resolution leaves out fields that only the writer has, and ignores logical types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.connectors.schema_registry.wire_format import Undecodable

_NUMBERS: Final = frozenset({"int", "long", "float", "double"})
_TEXTS: Final = frozenset({"bytes", "string"})


@dataclass(slots=True)
class Comparison:
    """Two parsed schemas with the types that they name."""

    of_writer: Mapping[str, Any]
    of_reader: Mapping[str, Any]

    def left_out(self, writer: Any, reader: Any) -> tuple[str, ...]:
        """Returns the fields of the writer's record of which something finds no place in the reader's.

        Raises:
            Undecodable: a number would be read with another scale, or a time in another unit.
        """
        known = {name: field for field in reader["fields"] for name in _names(field)}
        return tuple(
            field["name"]
            for field in writer["fields"]
            if field["name"] not in known or self._has_more(field["type"], known[field["name"]]["type"], ())
        )

    def _has_more(self, writer: Any, reader: Any, inside: tuple[str, ...]) -> bool:
        writer, reader = _definition(writer, self.of_writer), _definition(reader, self.of_reader)
        if isinstance(writer, list) or isinstance(reader, list):
            readers = [_definition(each, self.of_reader) for each in (reader if isinstance(reader, list) else [reader])]
            pairs = []
            for branch in writer if isinstance(writer, list) else [writer]:
                found = _definition(branch, self.of_writer)
                pairs += [(found, each) for each in readers if _kind(found) == _kind(each)][:1] or [
                    (found, each) for each in readers if _promoted(_kind(found), _kind(each))
                ][:1]
            # A branch that the reader has not is a message that is not decoded: the resolution says so.
            return True in [self._has_more(*pair, inside) for pair in pairs]
        if _kind(writer) != _kind(reader):
            _same_meaning(writer, reader)
            return False
        match _kind(writer):
            case "record":
                if writer["name"] in inside:
                    return False
                known = {name: field for field in reader["fields"] for name in _names(field)}
                deeper = (*inside, writer["name"])
                return True in [  # all are checked, for what they mean
                    field["name"] not in known or self._has_more(field["type"], known[field["name"]]["type"], deeper)
                    for field in writer["fields"]
                ]
            case "array":
                return self._has_more(writer["items"], reader["items"], inside)
            case "map":
                return self._has_more(writer["values"], reader["values"], inside)
            case _:
                _same_meaning(writer, reader)
                return False


def _same_meaning(writer: Any, reader: Any) -> None:
    meanings = [_meaning(each) for each in (writer, reader)]
    if None not in meanings and meanings[0] != meanings[1]:
        raise Undecodable(f"its schema has a {_said(meanings[0])} where the reader's has a {_said(meanings[1])}")


def _meaning(schema: Any) -> tuple[Any, ...] | None:
    if not isinstance(schema, dict) or "logicalType" not in schema:
        return None
    if schema["logicalType"] == "decimal":
        return ("decimal", schema.get("precision"), schema.get("scale", 0))
    return (schema["logicalType"],)


def _said(meaning: Iterable[Any] | None) -> str:
    kind, *parameters = meaning or ("",)
    return f"{kind}({', '.join(map(str, parameters))})" if parameters else str(kind)


def _promoted(writer: str, reader: str) -> bool:
    return {writer, reader} <= _NUMBERS or {writer, reader} <= _TEXTS


def _definition(schema: Any, names: Mapping[str, Any]) -> Any:
    while True:
        if isinstance(schema, str) and schema in names:
            schema = names[schema]
        elif isinstance(schema, dict) and (isinstance(schema["type"], (dict, list)) or schema["type"] in names):
            schema = schema["type"]
        else:
            return schema


def _kind(schema: Any) -> str:
    return str(schema if isinstance(schema, str) else schema["type"])


def _names(field: Mapping[str, Any]) -> tuple[str, ...]:
    return (field["name"], *field.get("aliases", ()))
