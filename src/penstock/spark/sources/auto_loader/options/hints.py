"""`cloudFiles.schemaHints`: types that the author knows better than the inference."""

from __future__ import annotations

import re
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, _parse_datatype_string

from penstock.errors import DefinitionError

_HINT = re.compile(r"\s*((?:`[^`]+`|[^\s`.]+)(?:\.(?:`[^`]+`|[^\s`.]+))*)\s*(?::|\s)\s*(\S.*?)\s*", re.DOTALL)
_PART = re.compile(r"`([^`]+)`|([^.`]+)")

_METADATA: Final = "_metadata"


def usable_hints(hints: str | None, rescued_column: str | None) -> str | None:
    """Returns the hints without one for the rescued data column, which is a STRING.

    Raises:
        DefinitionError: AUTO_LOADER_SCHEMA_HINT_INVALID, for another type of that column, or for `_metadata`.
    """
    usable = []
    for hint in _split(hints or ""):
        path, kind = _path_and_type(hint)
        name = path[0].casefold()
        if name == _METADATA:
            raise _invalid(hint, f"'{_METADATA}' is Spark's column with the file of a row; select its fields")
        if rescued_column is None or name != rescued_column.casefold():
            usable.append(hint)
        elif len(path) > 1 or kind.casefold() != "string":
            raise _invalid(hint, f"'{rescued_column}' is the rescued data column, a STRING; leave the hint out")
    return ", ".join(usable) or None


def apply_hints(schema: StructType, hints: str | None) -> StructType:
    """Returns `schema` with the hinted types; a hinted column that is not there is added at the end.

    `a.b INT` reaches into a struct, `a.element INT` into an array, `a.key` and `a.value` into a map.

    Raises:
        DefinitionError: AUTO_LOADER_SCHEMA_HINT_INVALID.
    """
    result: DataType = schema
    for hint in _split(hints or ""):
        path, text = _path_and_type(hint)
        try:
            hinted = _parse_datatype_string(text)
        except PySparkException as error:
            raise _invalid(hint, f"'{text}' is not a type") from error
        result = _with(result, path, hinted)
    assert isinstance(result, StructType)
    return result


def _path_and_type(hint: str) -> tuple[list[str], str]:
    match = _HINT.fullmatch(hint)
    if match is None:
        raise _invalid(hint, "a name and a type are expected")
    return [quoted or plain for quoted, plain in _PART.findall(match.group(1))], match.group(2)


def _invalid(hint: str, detail: str) -> DefinitionError:
    return DefinitionError("AUTO_LOADER_SCHEMA_HINT_INVALID", hint=hint, detail=detail)


def _split(hints: str) -> list[str]:
    """Splits at the commas that stand outside of brackets and backquotes."""
    parts, depth, quoted, current = [], 0, False, ""
    for character in hints:
        quoted ^= character == "`"
        if not quoted:
            depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0 and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in (*parts, current) if part.strip()]


def _with(current: DataType, path: list[str], hinted: DataType) -> DataType:
    if not path:
        return hinted
    head, rest = path[0], path[1:]
    match current:
        case ArrayType() if head.casefold() == "element":
            return ArrayType(_with(current.elementType, rest, hinted), current.containsNull)
        case MapType() if head.casefold() == "value":
            return MapType(current.keyType, _with(current.valueType, rest, hinted), current.valueContainsNull)
        case MapType() if head.casefold() == "key":
            return MapType(_with(current.keyType, rest, hinted), current.valueType, current.valueContainsNull)
        case StructType():
            return _with_field(current, head, rest, hinted)
        case _:
            # Without type inference a nested field is in a string; the hint says that it is a struct.
            return _with(StructType(), path, hinted)


def _with_field(struct: StructType, name: str, rest: list[str], hinted: DataType) -> StructType:
    fields = list(struct.fields)
    for position, field in enumerate(fields):
        if field.name.casefold() == name.casefold():
            fields[position] = StructField(field.name, _with(field.dataType, rest, hinted), field.nullable)
            return StructType(fields)
    return StructType([*fields, StructField(name, _with(StringType(), rest, hinted))])
