"""Putting what a new file has beside what is known: columns come at the end and stay, types stay or get wider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

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


Widen = Callable[[DataType, DataType], DataType | None]
"""What becomes of a known type beside a found one; None when they have no common one."""


def without_names(schema: StructType, names: Iterable[str]) -> StructType:
    """Returns the fields of other names than these, which are compared without regard to case."""
    folded = {name.casefold() for name in names}
    return StructType([field for field in schema.fields if field.name.casefold() not in folded])


def add_new_fields(known: StructType, found: StructType, widen: Widen | None = None) -> StructType:
    """Returns `known` with the fields that only `found` has, also inside of structs and arrays.

    The types of known fields stay, or become what `widen` makes of them. Names are compared without regard to case,
    because a table cannot hold both spellings.
    """
    found_by_name = {field.name.casefold(): field for field in reversed(found.fields)}
    fields = []
    for field in known.fields:
        other = found_by_name.pop(field.name.casefold(), None)
        if other is not None and other.name == field.name:
            kind = _grown(field.dataType, other.dataType, widen)
            fields.append(StructField(field.name, kind, field.nullable, field.metadata))
        else:
            fields.append(field)
    new = [field for field in found.fields if found_by_name.pop(field.name.casefold(), None) is not None]
    return StructType([*fields, *new])


def with_text_field(known: StructType, path: Sequence[str]) -> StructType:
    """Returns `known` with a STRING at `path`, whose parts are names of fields, if no field is there.

    A struct may be the element of an array or the value of a map. Names are compared without regard to case.
    """
    added: DataType = StringType()
    for name in reversed(path):
        added = StructType([StructField(name, added)])
    return _with_struct(known, added)


def has_fields(known: StructType, paths: Iterable[Sequence[str]]) -> bool:
    """Returns whether there is a field at each path, see `with_text_field`."""
    return all(with_text_field(known, path) == known for path in paths)


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


def changed_types(before: StructType, after: StructType, prefix: str = "") -> Iterator[str]:
    """Yields path and type of each field that has another type in `after`, e.g. `who.age bigint`."""
    known = {field.name: field.dataType for field in before.fields}
    for field in after.fields:
        if field.name in known:
            yield from _changes(known[field.name], field.dataType, prefix + field.name)


def describe_growth(before: StructType, after: StructType) -> str:
    """Returns in words what `after` has beside `before`, empty when nothing."""
    new, wider = new_field_paths(before, after), tuple(changed_types(before, after))
    words = [f"new columns: {', '.join(new)}"] if new else []
    return "; ".join([*words, f"wider types: {', '.join(wider)}"] if wider else words)


def union_of(schemas: Iterable[StructType], widen: Widen | None = None) -> StructType:
    """Returns the union of the schemas that files of one format carry.

    Numbers widen as Spark's Avro reader can, or as `widen` says.

    Raises:
        ValueError: two types of one field have no common one; its text says which.
    """
    merged = StructType()
    for schema in schemas:
        merged = _union(merged, schema, "", widen or wider_of_avro)
    return merged


def wider_of_avro(known: DataType, found: DataType) -> DataType | None:
    """Returns the type as which Spark's Avro reader, and the others, read both; None when it is not `found`."""
    return found if (type(known), type(found)) in _WIDENING else None


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
    """Returns `schema` with one of each group of names that differ only in case: the lower-case one, else the first.

    Of fields of the same name it is the first: Spark's inference has one more where a record repeats a key, and merges
    the types of other records into the first.
    """
    chosen: dict[str, StructField] = {}
    for field in schema.fields:
        key = field.name.casefold()
        if key not in chosen or field.name == key != chosen[key].name:
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


def _changes(before: DataType, after: DataType, path: str) -> Iterator[str]:
    match before, after:
        case StructType(), StructType():
            yield from changed_types(before, after, f"{path}.")
        case ArrayType(), ArrayType():
            yield from _changes(before.elementType, after.elementType, f"{path}.element")
        case MapType(), MapType():
            yield from _changes(before.valueType, after.valueType, f"{path}.value")
        case _ if before != after:
            yield f"{path} {after.simpleString()}"


def _with_struct(known: DataType, added: DataType) -> Any:
    match known, added:
        case StructType(), StructType():
            field = added.fields[0]
            for position, each in enumerate(known.fields):
                if each.name.casefold() == field.name.casefold():
                    fields = list(known.fields)
                    kind = _with_struct(each.dataType, field.dataType)
                    fields[position] = StructField(each.name, kind, each.nullable, each.metadata)
                    return StructType(fields)
            return StructType([*known.fields, field])
        case ArrayType(), StructType():
            return ArrayType(_with_struct(known.elementType, added), known.containsNull)
        case MapType(), StructType():
            return MapType(known.keyType, _with_struct(known.valueType, added), known.valueContainsNull)
        case _:
            return known


def _grown(known: DataType, found: DataType, widen: Widen | None) -> DataType:
    match known, found:
        case StructType(), StructType():
            return add_new_fields(known, found, widen)
        case ArrayType(), ArrayType():
            return ArrayType(_grown(known.elementType, found.elementType, widen), known.containsNull)
        case MapType(), MapType():
            return MapType(known.keyType, _grown(known.valueType, found.valueType, widen), known.valueContainsNull)
        case _:
            return known if widen is None else widen(known, found) or known


def _union(left: StructType, right: StructType, prefix: str, widen: Widen) -> StructType:
    merged = {field.name.casefold(): field for field in left.fields}
    for field in right.fields:
        key = field.name.casefold()
        if key in merged:
            kind = _common(merged[key].dataType, field.dataType, prefix + field.name, widen)
            merged[key] = StructField(merged[key].name, kind)
        else:
            merged[key] = field
    return StructType(list(merged.values()))


def _common(left: DataType, right: DataType, path: str, widen: Widen) -> DataType:
    match left, right:
        case StructType(), StructType():
            return _union(left, right, f"{path}.", widen)
        case ArrayType(), ArrayType():
            return ArrayType(_common(left.elementType, right.elementType, path, widen))
        case MapType(), MapType():
            return MapType(left.keyType, _common(left.valueType, right.valueType, path, widen))
        case _ if left == right:
            return left
        case _ if (common := widen(left, right) or widen(right, left)) is not None:
            return common
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
