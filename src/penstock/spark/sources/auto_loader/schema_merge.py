"""Putting what a new file has beside what is known: columns are only ever added, at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

_NUMBERS: tuple[type[DataType], ...] = (IntegerType, LongType, DoubleType)
# What Spark's Avro reader reads as another type.
_WIDENING: tuple[tuple[type[DataType], type[DataType]], ...] = (
    (IntegerType, LongType),
    (IntegerType, DoubleType),
    (FloatType, DoubleType),
)


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


def union_of(schemas: Iterable[StructType]) -> StructType:
    """Returns the union of the schemas that files of one format carry; numbers widen as Spark's Avro reader can.

    Raises:
        ValueError: two types of one field have no common one; its text says which.
    """
    merged = StructType()
    for schema in schemas:
        merged = _union(merged, schema, "")
    return merged


def fields_with_several_values(known: StructType, found: StructType, prefix: str = "") -> Iterator[str]:
    """Yields the dotted paths of the fields that are lists in `found` and have one value in `known`."""
    kinds = {field.name: field.dataType for field in known.fields}
    for field in found.fields:
        old, new = kinds.get(field.name), field.dataType
        while isinstance(old, ArrayType) and isinstance(new, ArrayType):
            old, new = old.elementType, new.elementType
        if isinstance(old, StructType) and isinstance(new, StructType):
            yield from fields_with_several_values(old, new, f"{prefix}{field.name}.")
        elif old is not None and isinstance(new, ArrayType):
            yield prefix + field.name


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


def _union(left: StructType, right: StructType, prefix: str) -> StructType:
    merged = {field.name.casefold(): field for field in left.fields}
    for field in right.fields:
        key = field.name.casefold()
        if key in merged:
            kind = _common(merged[key].dataType, field.dataType, prefix + field.name)
            merged[key] = StructField(merged[key].name, kind)
        else:
            merged[key] = field
    return StructType(list(merged.values()))


def _common(left: DataType, right: DataType, path: str) -> DataType:
    match left, right:
        case StructType(), StructType():
            return _union(left, right, f"{path}.")
        case ArrayType(), ArrayType():
            return ArrayType(_common(left.elementType, right.elementType, path))
        case MapType(), MapType():
            return MapType(left.keyType, _common(left.valueType, right.valueType, path))
        case _ if left == right:
            return left
        case _ if (type(left), type(right)) in _WIDENING:
            return right
        case _ if (type(right), type(left)) in _WIDENING:
            return left
        case _:
            raise ValueError(f"'{path}' is {left.simpleString()} in one and {right.simpleString()} in another")


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
