"""Putting what a new file has beside what is known: columns come at the end and stay, types stay or get wider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

_NUMBERS: tuple[type[T.DataType], ...] = (T.IntegerType, T.LongType, T.DoubleType)
# What Spark's Avro reader reads as another type.
_WIDENING: tuple[tuple[type[T.DataType], type[T.DataType]], ...] = (
    (T.IntegerType, T.LongType),
    (T.IntegerType, T.DoubleType),
    (T.FloatType, T.DoubleType),
)


Widen = Callable[[T.DataType, T.DataType], T.DataType | None]
"""What becomes of a known type beside a found one; None when they have no common one."""


def without_names(schema: T.StructType, names: Iterable[str]) -> T.StructType:
    """Returns the fields of other names than these, which are compared without regard to case."""
    folded = {name.casefold() for name in names}
    return T.StructType([field for field in schema.fields if field.name.casefold() not in folded])


def add_new_fields(known: T.StructType, found: T.StructType, widen: Widen | None = None) -> T.StructType:
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
            fields.append(T.StructField(field.name, kind, field.nullable, field.metadata))
        else:
            fields.append(field)
    new = [field for field in found.fields if found_by_name.pop(field.name.casefold(), None) is not None]
    return T.StructType([*fields, *new])


def with_text_field(known: T.StructType, path: Sequence[str]) -> T.StructType:
    """Returns `known` with a STRING at `path`, whose parts are names of fields, if no field is there.

    A struct may be the element of an array or the value of a map. Names are compared without regard to case.
    """
    added: T.DataType = T.StringType()
    for name in reversed(path):
        added = T.StructType([T.StructField(name, added)])
    return _with_struct(known, added)


def has_fields(known: T.StructType, paths: Iterable[Sequence[str]]) -> bool:
    """Returns whether there is a field at each path, see `with_text_field`."""
    return all(with_text_field(known, path) == known for path in paths)


def new_field_paths(before: T.StructType, after: T.StructType, prefix: str = "") -> tuple[str, ...]:
    """Returns the dotted paths of the fields that `after` has and `before` has not."""
    known = {field.name: field.dataType for field in before.fields}
    paths: list[str] = []
    for field in after.fields:
        if field.name not in known:
            paths.append(prefix + field.name)
            continue
        old, new = known[field.name], field.dataType
        while isinstance(old, T.ArrayType) and isinstance(new, T.ArrayType):
            old, new = old.elementType, new.elementType
        if isinstance(old, T.StructType) and isinstance(new, T.StructType):
            paths.extend(new_field_paths(old, new, f"{prefix}{field.name}."))
    return tuple(paths)


def changed_types(before: T.StructType, after: T.StructType, prefix: str = "") -> Iterator[str]:
    """Yields path and type of each field that has another type in `after`, e.g. `who.age bigint`."""
    known = {field.name: field.dataType for field in before.fields}
    for field in after.fields:
        if field.name in known:
            yield from _changes(known[field.name], field.dataType, prefix + field.name)


def describe_growth(before: T.StructType, after: T.StructType) -> str:
    """Returns in words what `after` has beside `before`, empty when nothing."""
    new, wider = new_field_paths(before, after), tuple(changed_types(before, after))
    words = [f"new columns: {', '.join(new)}"] if new else []
    return "; ".join([*words, f"wider types: {', '.join(wider)}"] if wider else words)


def union_of(schemas: Iterable[T.StructType], widen: Widen | None = None) -> T.StructType:
    """Returns the union of the schemas that files of one format carry.

    Numbers widen as Spark's Avro reader can, or as `widen` says.

    Raises:
        ValueError: two types of one field have no common one; its text says which.
    """
    merged = T.StructType()
    for schema in schemas:
        merged = _union(merged, schema, "", widen or wider_of_avro)
    return merged


def wider_of_avro(known: T.DataType, found: T.DataType) -> T.DataType | None:
    """Returns the type as which Spark's Avro reader, and the others, read both; None when it is not `found`."""
    return found if (type(known), type(found)) in _WIDENING else None


def fields_with_several_values(known: T.StructType, found: T.StructType, prefix: str = "") -> Iterator[str]:
    """Yields the dotted paths of the fields that are lists in `found` and have one value in `known`."""
    kinds = {field.name: field.dataType for field in known.fields}
    for field in found.fields:
        old, new = kinds.get(field.name), field.dataType
        while isinstance(old, T.ArrayType) and isinstance(new, T.ArrayType):
            old, new = old.elementType, new.elementType
        if isinstance(old, T.StructType) and isinstance(new, T.StructType):
            yield from fields_with_several_values(old, new, f"{prefix}{field.name}.")
        elif old is not None and isinstance(new, T.ArrayType):
            yield prefix + field.name


def without_case_twins(schema: T.StructType) -> T.StructType:
    """Returns `schema` with one of each group of names that differ only in case: the lower-case one, else the first.

    Of fields of the same name it is the first: Spark's inference has one more where a record repeats a key, and merges
    the types of other records into the first.
    """
    chosen: dict[str, T.StructField] = {}
    for field in schema.fields:
        key = field.name.casefold()
        if key not in chosen or field.name == key != chosen[key].name:
            chosen[key] = T.StructField(field.name, _untwinned(field.dataType))
    return T.StructType(list(chosen.values()))


def _changes(before: T.DataType, after: T.DataType, path: str) -> Iterator[str]:
    match before, after:
        case T.StructType(), T.StructType():
            yield from changed_types(before, after, f"{path}.")
        case T.ArrayType(), T.ArrayType():
            yield from _changes(before.elementType, after.elementType, f"{path}.element")
        case T.MapType(), T.MapType():
            yield from _changes(before.valueType, after.valueType, f"{path}.value")
        case _ if before != after:
            yield f"{path} {after.simpleString()}"


def _with_struct(known: T.DataType, added: T.DataType) -> Any:
    match known, added:
        case T.StructType(), T.StructType():
            field = added.fields[0]
            for position, each in enumerate(known.fields):
                if each.name.casefold() == field.name.casefold():
                    fields = list(known.fields)
                    kind = _with_struct(each.dataType, field.dataType)
                    fields[position] = T.StructField(each.name, kind, each.nullable, each.metadata)
                    return T.StructType(fields)
            return T.StructType([*known.fields, field])
        case T.ArrayType(), T.StructType():
            return T.ArrayType(_with_struct(known.elementType, added), known.containsNull)
        case T.MapType(), T.StructType():
            return T.MapType(known.keyType, _with_struct(known.valueType, added), known.valueContainsNull)
        case _:
            return known


def _grown(known: T.DataType, found: T.DataType, widen: Widen | None) -> T.DataType:
    match known, found:
        case T.StructType(), T.StructType():
            return add_new_fields(known, found, widen)
        case T.ArrayType(), T.ArrayType():
            return T.ArrayType(_grown(known.elementType, found.elementType, widen), known.containsNull)
        case T.MapType(), T.MapType():
            return T.MapType(known.keyType, _grown(known.valueType, found.valueType, widen), known.valueContainsNull)
        case _:
            return known if widen is None else widen(known, found) or known


def _union(left: T.StructType, right: T.StructType, prefix: str, widen: Widen) -> T.StructType:
    merged = {field.name.casefold(): field for field in left.fields}
    for field in right.fields:
        key = field.name.casefold()
        if key in merged:
            kind = _common(merged[key].dataType, field.dataType, prefix + field.name, widen)
            merged[key] = T.StructField(merged[key].name, kind)
        else:
            merged[key] = field
    return T.StructType(list(merged.values()))


def _common(left: T.DataType, right: T.DataType, path: str, widen: Widen) -> T.DataType:
    match left, right:
        case T.StructType(), T.StructType():
            return _union(left, right, f"{path}.", widen)
        case T.ArrayType(), T.ArrayType():
            return T.ArrayType(_common(left.elementType, right.elementType, path, widen))
        case T.MapType(), T.MapType():
            return T.MapType(left.keyType, _common(left.valueType, right.valueType, path, widen))
        case _ if left == right:
            return left
        case _ if (common := widen(left, right) or widen(right, left)) is not None:
            return common
        case _:
            raise ValueError(f"'{path}' is {left.simpleString()} in one and {right.simpleString()} in another")


def _untwinned(kind: T.DataType) -> T.DataType:
    match kind:
        case T.StructType():
            return without_case_twins(kind)
        case T.ArrayType():
            return T.ArrayType(_untwinned(kind.elementType), kind.containsNull)
        case _:
            return kind


def number_or_text(left: T.DataType, right: T.DataType) -> T.DataType:
    """Returns the wider of two numbers, and STRING for any other two types that were inferred apart."""
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return max(left, right, key=lambda kind: _NUMBERS.index(type(kind)))
    return T.StringType()
