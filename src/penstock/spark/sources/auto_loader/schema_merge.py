"""Putting what a new file has beside what is known: columns are only ever added, at the end."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

_NUMBERS: tuple[type[DataType], ...] = (IntegerType, LongType, DoubleType)


def add_new_fields(known: StructType, found: StructType) -> StructType:
    """Returns `known` with the fields that only `found` has, also inside of structs and arrays.

    The types of known fields stay. Names are compared without regard to case, because a table cannot
    hold both spellings.
    """
    found_by_name = {field.name.casefold(): field for field in reversed(found.fields)}
    fields = []
    for field in known.fields:
        other = found_by_name.pop(field.name.casefold(), None)
        if other is not None and other.name == field.name:
            kind = _grown(field.dataType, other.dataType)
            fields.append(StructField(field.name, kind, field.nullable, field.metadata))
        else:
            fields.append(field)
    new = [field for field in found.fields if found_by_name.pop(field.name.casefold(), None) is not None]
    return StructType([*fields, *new])


def new_field_paths(before: StructType, after: StructType, prefix: str = "") -> tuple[str, ...]:
    """Returns the dotted paths of the fields that `after` has and `before` has not."""
    known = {field.name: field.dataType for field in before.fields}
    paths: list[str] = []
    for field in after.fields:
        if field.name not in known:
            paths.append(prefix + field.name)
            continue
        old, new = known[field.name], field.dataType
        while isinstance(old, ArrayType) and isinstance(new, ArrayType):
            old, new = old.elementType, new.elementType
        if isinstance(old, StructType) and isinstance(new, StructType):
            paths.extend(new_field_paths(old, new, f"{prefix}{field.name}."))
    return tuple(paths)


def without_case_twins(schema: StructType) -> StructType:
    """Returns `schema` with one of each group of names that differ only in case: the lower-case one, else the first."""
    chosen: dict[str, StructField] = {}
    for field in schema.fields:
        key = field.name.casefold()
        if key not in chosen or field.name == key:
            chosen[key] = StructField(field.name, _untwinned(field.dataType))
    return StructType(list(chosen.values()))


def merge_types(schemas: list[StructType]) -> StructType:
    """Returns the union of schemas that were inferred apart: numbers widen, other conflicts become strings."""
    merged: dict[str, StructField] = {}
    for schema in schemas:
        for field in schema.fields:
            key = field.name.casefold()
            known = merged.get(key)
            kind = field.dataType if known is None else _wider(known.dataType, field.dataType)
            merged[key] = StructField(field.name if known is None else known.name, kind)
    return StructType(list(merged.values()))


def _grown(known: DataType, found: DataType) -> DataType:
    match known, found:
        case StructType(), StructType():
            return add_new_fields(known, found)
        case ArrayType(), ArrayType():
            return ArrayType(_grown(known.elementType, found.elementType), known.containsNull)
        case MapType(), MapType():
            return MapType(known.keyType, _grown(known.valueType, found.valueType), known.valueContainsNull)
        case _:
            return known


def _untwinned(kind: DataType) -> DataType:
    match kind:
        case StructType():
            return without_case_twins(kind)
        case ArrayType():
            return ArrayType(_untwinned(kind.elementType), kind.containsNull)
        case _:
            return kind


def _wider(left: DataType, right: DataType) -> DataType:
    if left == right:
        return left
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return max(left, right, key=lambda kind: _NUMBERS.index(type(kind)))
    return StringType()
