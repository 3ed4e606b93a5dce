"""SQL that finds the fields of a JSON text that a schema does not know."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.schema.reports import PATH_SEPARATOR
from penstock.spark.sources.auto_loader.schema.sql_text import string_array

_SEPARATOR = "'\\u0001'"


def unknown_fields_sql(text: str, schema: StructType, also_known: tuple[str, ...] = ()) -> str:
    """Returns SQL for the paths of the fields of the JSON object `text` that have a value and no place in `schema`.

    NULL when `text` is not a JSON object. Nested structs, and structs in arrays and maps, are searched too;
    the parts of a path are joined by PATH_SEPARATOR. `also_known` are top-level names that count as known.
    """
    return _unknown(text, schema, also_known, itertools.count())


def folded_paths(schema: StructType, prefix: str = "") -> Iterator[str]:
    """Yields the path of every field of `schema`, nested ones too, in lower case and joined by PATH_SEPARATOR."""
    for field in schema.fields:
        path = prefix + field.name.lower()
        yield path
        kind = field.dataType
        while isinstance(kind, (ArrayType, MapType)):
            kind = kind.elementType if isinstance(kind, ArrayType) else kind.valueType
        if isinstance(kind, StructType):
            yield from folded_paths(kind, path + PATH_SEPARATOR)


def has_struct(kind: DataType) -> bool:
    """Whether there are fields inside of a value of this type."""
    match kind:
        case StructType():
            return True
        case ArrayType():
            return has_struct(kind.elementType)
        case MapType():
            return has_struct(kind.valueType)
        case _:
            return False


def value_at(text: str, name: str) -> str:
    """Returns SQL for the JSON text of field `name` of the JSON object `text`, NULL when it is absent or null."""
    if "'" in name or "\\" in name:  # a JSON path cannot spell these
        return f"to_json(element_at(CAST(try_parse_json({text}) AS MAP<STRING, VARIANT>), {literal(name)}))"
    return f"get_json_object({text}, {literal(f'$[{chr(39)}{name}{chr(39)}]')})"


def variant_fields(text: str) -> str:
    """Returns SQL for the fields of the JSON object `text` that have a value: `"name":value` under its name.

    NULL where `text` is no object. VARIANT writes numbers in its own way: some lose digits.
    """
    fields = f"try_variant_get(try_parse_json({text}), '$', 'MAP<STRING, VARIANT>')"
    fields = f"map_filter({fields}, (k, x) -> NOT is_variant_null(x))"
    return f"transform_values({fields}, (k, x) -> regexp_extract(to_json(map(k, x)), '(?s)^.(.*).$', 1))"


def _unknown(text: str, schema: StructType, also_known: tuple[str, ...], ids: Iterator[int]) -> str:
    known = string_array([*schema.fieldNames(), *also_known])
    key = f"k{next(ids)}"
    # A field that is null says nothing; a key with a quote cannot be looked up and counts as a value.
    has_value = f"contains({key}, '\\'') OR get_json_object({text}, concat('$[\\'', {key}, '\\']')) IS NOT NULL"
    top = f"filter(array_except(json_object_keys({text}), {known}), {key} -> {has_value})"
    nested = [
        _below(field.name, value_at(text, field.name), field.dataType, ids)
        for field in schema.fields
        if has_struct(field.dataType)
    ]
    return f"concat({', '.join([top, *nested])})" if nested else top


def _below(name: str, text: str, kind: DataType, ids: Iterator[int]) -> str:
    path = f"p{next(ids)}"
    inner = _inside(text, kind, ids)
    prefixed = f"transform({inner}, {path} -> concat({literal(name)}, {_SEPARATOR}, {path}))"
    return f"coalesce({prefixed}, CAST(array() AS ARRAY<STRING>))"


def _inside(text: str, kind: DataType, ids: Iterator[int]) -> str:
    match kind:
        case StructType():
            return _unknown(text, kind, (), ids)
        case ArrayType():
            elements, inner_kind = f"from_json({text}, 'ARRAY<STRING>')", kind.elementType
        case MapType():
            elements, inner_kind = f"map_values(from_json({text}, 'MAP<STRING, STRING>'))", kind.valueType
        case _:
            raise AssertionError(kind)
    element = f"e{next(ids)}"
    found = f"coalesce({_inside(element, inner_kind, ids)}, CAST(array() AS ARRAY<STRING>))"
    return f"array_distinct(flatten(transform({elements}, {element} -> {found})))"
