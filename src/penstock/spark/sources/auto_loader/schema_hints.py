"""`cloudFiles.schemaHints`: types that the author knows better than the inference."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, _parse_datatype_string

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader.schema_log import SchemaVersion
from penstock.spark.sources.auto_loader.schema_merge import add_new_fields, describe_growth

_HINT = re.compile(r"\s*((?:`[^`]+`|[^\s`.]+)(?:\.(?:`[^`]+`|[^\s`.]+))*)\s*(?::|\s)\s*(\S.*?)\s*", re.DOTALL)
_PART = re.compile(r"`([^`]+)`|([^.`]+)")


def apply_hints(schema: StructType, hints: str | None) -> StructType:
    """Returns `schema` with the hinted types; a hinted column that is not there is added at the end.

    `a.b INT` reaches into a struct, `a.element INT` into an array, `a.key` and `a.value` into a map.

    Raises:
        DefinitionError: AUTO_LOADER_SCHEMA_HINT_INVALID.
    """
    result: DataType = schema
    for hint in _split(hints or ""):
        match = _HINT.fullmatch(hint)
        if match is None:
            raise DefinitionError("AUTO_LOADER_SCHEMA_HINT_INVALID", hint=hint, detail="a name and a type are expected")
        path = [quoted or plain for quoted, plain in _PART.findall(match.group(1))]
        try:
            hinted = _parse_datatype_string(match.group(2))
        except PySparkException as error:
            detail = f"'{match.group(2)}' is not a type"
            raise DefinitionError("AUTO_LOADER_SCHEMA_HINT_INVALID", hint=hint, detail=detail) from error
        result = _with(result, path, hinted)
    assert isinstance(result, StructType)
    return result


def with_hinted_fields(version: SchemaVersion, hints: str | None) -> SchemaVersion:
    """Returns `version`, or the next one with the hinted fields that it has not: hints that were given since.

    The types of known fields stay, because the table has them.

    Raises:
        DefinitionError: AUTO_LOADER_SCHEMA_HINT_INVALID.
    """
    partitions = {field.name.casefold() for field in version.partitions.fields}
    hinted = apply_hints(version.columns, hints)
    hinted = StructType([field for field in hinted.fields if field.name.casefold() not in partitions])
    columns = add_new_fields(version.columns, hinted)
    if columns == version.columns:
        return version
    return version.followed_by(f"hints: {describe_growth(version.columns, columns)}", columns=columns)


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
            # Without type inference a nested field stands in a string; the hint says that it is a struct.
            return _with(StructType(), path, hinted)


def _with_field(struct: StructType, name: str, rest: list[str], hinted: DataType) -> StructType:
    fields = list(struct.fields)
    for position, field in enumerate(fields):
        if field.name.casefold() == name.casefold():
            fields[position] = StructField(field.name, _with(field.dataType, rest, hinted), field.nullable)
            return StructType(fields)
    return StructType([*fields, StructField(name, _with(StringType(), rest, hinted))])
