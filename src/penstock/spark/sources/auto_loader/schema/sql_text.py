"""Writing Spark SQL safely: names and literals that may hold any character."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from penstock.graph.sql.names import literal, quoted


def column(*path: str) -> str:
    """Returns a column or nested field reference, each part quoted."""
    return ".".join(map(quoted, path))


def string_array(texts: Iterable[str]) -> str:
    """Returns an array of string literals, `CAST(array() AS ARRAY<STRING>)` when there are none."""
    items = ", ".join(literal(text) for text in texts)
    return f"array({items})" if items else "CAST(array() AS ARRAY<STRING>)"


def with_file_path(json_object: str, file: str) -> str:
    """Returns SQL that adds `_file_path` to the text of a JSON object; NULL when the object is empty."""
    return with_origin(json_object, file_origin(file))


def file_origin(file: str) -> str:
    """Returns SQL for the struct that says from which file a record is."""
    return f"named_struct('_file_path', {file})"


def with_origin(json_object: str, origin: str | None) -> str:
    """Returns SQL that adds the fields of the struct `origin`, if any, to the text of a JSON object; NULL for `{}`."""
    # Text surgery, because map_concat would fail on data that has a key of that name. The array is a way to
    # name a value inside an expression: `json_object` may be long.
    added = "j" if origin is None else f"concat(substr(j, 1, length(j) - 1), ',', substr(to_json({origin}), 2))"
    return f"element_at(transform(array({json_object}), j -> IF(j = '{{}}', NULL, {added})), 1)"


def whole_record(record: str, file: str) -> str:
    """Returns SQL for the rescued data of a record that could not be parsed."""
    return f"to_json(named_struct('_corrupt_record', {record}, '_file_path', {file}))"


def options_map(options: Mapping[str, str]) -> str:
    """Returns a map literal, as functions such as `from_json` take their options."""
    return "map(" + ", ".join(f"{literal(name)}, {literal(value)}" for name, value in options.items()) + ")"


def type_ddl(kind: DataType) -> str:
    """Returns a type as DDL with every field name quoted."""
    match kind:
        case StructType():
            return "STRUCT<" + ", ".join(f"{column(f.name)}: {type_ddl(f.dataType)}" for f in kind.fields) + ">"
        case ArrayType():
            return f"ARRAY<{type_ddl(kind.elementType)}>"
        case MapType():
            return f"MAP<{type_ddl(kind.keyType)}, {type_ddl(kind.valueType)}>"
        case _:
            return kind.simpleString()


def schema_ddl(schema: StructType) -> str:
    """Returns the columns of a schema as DDL with every name quoted."""
    return ", ".join(f"{column(field.name)} {type_ddl(field.dataType)}" for field in schema.fields)
