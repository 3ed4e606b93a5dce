"""`addNewColumnsWithTypeWidening`: which type a column gets when a file has a wider one.

The rules are those of Delta's type widening. Columnar files hold their types; of text, each value that does not fit
its column gives the type that would hold it, so a column is only as wide as its values need.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.schema.reports import raise_wider_sql
from penstock.spark.sources.auto_loader.schema.sql_text import string_array

# The digits that a decimal needs to take the place of a whole number, as Delta counts them.
_WHOLE: Final[dict[type[T.DataType], int]] = {T.ByteType: 10, T.ShortType: 10, T.IntegerType: 10, T.LongType: 20}
_WHOLE_TYPES: Final = tuple(_WHOLE)
_TO_DOUBLE: Final = (T.ByteType, T.ShortType, T.IntegerType, T.FloatType)
_MOST_DIGITS: Final = 38

# Spark's reader of Avro takes fewer liberties with what is in a file than that of Parquet; that of XML rounds.
_NOT_READ: Final[dict[str, tuple[tuple[type[T.DataType], type[T.DataType]], ...]]] = {
    "avro": (
        (T.IntegerType, T.DecimalType),
        (T.LongType, T.DecimalType),
        (T.DateType, T.TimestampNTZType),
    ),
    "orc": ((T.DateType, T.TimestampNTZType),),
    "xml": tuple((whole, T.DecimalType) for whole in (T.ByteType, T.ShortType, T.IntegerType, T.LongType)),
}

_FOUND: Final = "ARRAY<STRUCT<path: ARRAY<STRING>, type: STRING>>"


def wider(known: T.DataType, found: T.DataType, source_format: str = "") -> T.DataType | None:
    """Returns the type of a column that was `known` and shall hold `found` too, `known` itself when that does.

    None when Delta cannot widen to such a type, or Spark cannot read files of the format under it.
    """
    result = _wider(known, found)
    if result is None or result == known:
        return result
    return None if (type(known), type(result)) in _NOT_READ.get(source_format, ()) else result


def holds(known: T.DataType, found: T.DataType, source_format: str) -> bool:
    """Whether a column of type `known` takes all values of `found`, and Spark reads files of the format so."""
    if known == found:
        return True
    return _wider(known, found) == known and (type(found), type(known)) not in _NOT_READ.get(source_format, ())


def widened_at(kind: T.DataType, path: Sequence[str], found: T.DataType) -> T.DataType:
    """Returns `kind` with the field at `path` as wide as `found`; the parts are names, `element` and `value`."""
    if not path:
        return wider(kind, found) or kind
    head, rest = path[0], path[1:]
    match kind:
        case T.ArrayType():
            return T.ArrayType(widened_at(kind.elementType, rest, found), kind.containsNull)
        case T.MapType():
            return T.MapType(kind.keyType, widened_at(kind.valueType, rest, found), kind.valueContainsNull)
        case T.StructType():
            return T.StructType(
                [
                    T.StructField(field.name, widened_at(field.dataType, rest, found), field.nullable, field.metadata)
                    if field.name == head
                    else field
                    for field in kind.fields
                ]
            )
        case _:
            return kind


def wider_type_sql(value: str, kind: T.DataType, column: str, *, prefers_decimal: bool | None) -> str | None:
    """Returns SQL for the wider types that the numbers in `value`, the VARIANT of a column, need beside `kind`.

    An array of structs: `path` from `column` on (names, `element`, `value`), `type` as DDL. A fraction makes a whole
    number a DOUBLE, as in Spark's inference, or, with `prefers_decimal`, a DECIMAL. With None no number becomes a
    DECIMAL, which Spark rounds to: that is for a caller who does not inspect the numbers that fit. None when nothing in
    `kind` can be wider.
    """
    return _found(value, kind, (column,), itertools.count(), prefers_decimal=prefers_decimal)


def all_found(found: Sequence[str]) -> str:
    """Returns SQL for the concatenation of what `wider_type_sql` gives for several values."""
    return f"concat({', '.join(f'coalesce({each}, CAST(array() AS {_FOUND}))' for each in found)})"


def stop_at_wider(texts: Sequence[tuple[T.StructField, str]], source_name: str, file: str) -> str:
    """Returns SQL that fails the batch when a column has to be wider for the number in its text, else gives true."""
    candidates = [
        wider_type_sql(f"try_parse_json({text})", field.dataType, field.name, prefers_decimal=None)
        for field, text in texts
    ]
    found = [each for each in candidates if each is not None]
    if not found:
        return "true"
    wider = all_found(found)
    return f"CASE WHEN size({wider}) = 0 THEN true ELSE {raise_wider_sql(source_name, wider, file)} END"


def _wider(known: T.DataType, found: T.DataType) -> T.DataType | None:
    if known == found:
        return known
    match known, found:
        case (
            (T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType()),
            (T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType()),
        ):
            return max(known, found, key=lambda kind: _WHOLE_TYPES.index(type(kind)))
        case T.DoubleType(), _ if isinstance(found, _TO_DOUBLE):
            return known
        case _, T.DoubleType() if isinstance(known, _TO_DOUBLE):
            return found
        case T.DateType(), T.TimestampNTZType():
            return found
        case T.TimestampNTZType(), T.DateType():
            return known
    left, right = _digits(known), _digits(found)
    if left is None or right is None:
        return None
    scale = max(left[1], right[1])
    precision = max(left[0] - left[1], right[0] - right[1]) + scale
    return None if precision > _MOST_DIGITS else T.DecimalType(precision, scale)


def _digits(kind: T.DataType) -> tuple[int, int] | None:
    if isinstance(kind, T.DecimalType):
        return kind.precision, kind.scale
    return (_WHOLE[type(kind)], 0) if type(kind) in _WHOLE else None


def _found(
    value: str, kind: T.DataType, path: tuple[str, ...], ids: Iterator[int], *, prefers_decimal: bool | None
) -> str | None:
    name = f"w{next(ids)}"
    match kind:
        case T.StructType():
            parts = []
            for field in kind.fields:
                item = f"element_at({name}, {literal(field.name)})"
                inner = _found(item, field.dataType, (*path, field.name), ids, prefers_decimal=prefers_decimal)
                parts.extend([] if inner is None else [inner])
            return _bound(name, _fields(value), all_found(parts)) if parts else None
        case T.ArrayType():
            items, kind, step = f"try_variant_get({value}, '$', 'ARRAY<VARIANT>')", kind.elementType, "element"
        case T.MapType():
            items, kind, step = f"map_values({_fields(value)})", kind.valueType, "value"
        case _:
            target = _target(name, kind, prefers_decimal=prefers_decimal)
            if target is None:
                return None
            one = f"IF(t IS NULL, NULL, named_struct('path', {string_array(path)}, 'type', t))"
            return _bound(name, value, f"array_compact({_list_of('t', target, one)})")
    inner = _found(name, kind, (*path, step), ids, prefers_decimal=prefers_decimal)
    return None if inner is None else f"array_distinct(flatten(transform({items}, {name} -> {inner})))"


def _target(value: str, kind: T.DataType, *, prefers_decimal: bool | None) -> str | None:
    """SQL for the type, as DDL, that holds the number `value` where `kind` does not; NULL when `kind` does, or none."""
    digits = _digits(kind)
    if digits is None:
        return None
    found = f"schema_of_variant({value})"
    is_long, is_decimal = f"{found} = 'BIGINT'", f"startswith({found}, 'DECIMAL')"
    scale = f"IF({is_long}, 0, CAST(regexp_extract({found}, ',([0-9]+)', 1) AS INT))"
    before_point = (
        f"IF({is_long}, length(ltrim('-', variant_get({value}, '$', 'STRING'))), "
        f"CAST(regexp_extract({found}, '([0-9]+),', 1) AS INT) - {scale})"
    )
    most = digits[0] - digits[1]
    whole, fraction = f"greatest({before_point}, {most})", f"greatest({scale}, {digits[1]})"
    decimal = f"concat('DECIMAL(', {whole} + {fraction}, ',', {fraction}, ')')"
    decimal = f"IF({whole} + {fraction} <= {_MOST_DIGITS}, {decimal}, NULL)"
    if isinstance(kind, T.DecimalType):
        too_large = f"{before_point} > {most}" + ("" if prefers_decimal is None else f" OR {scale} > {digits[1]}")
        return f"CASE WHEN ({is_long} OR {is_decimal}) AND ({too_large}) THEN {decimal} END"
    candidates = _WHOLE_TYPES[_WHOLE_TYPES.index(type(kind)) :]
    number = f"variant_get({value}, '$', 'BIGINT')"
    fitting = " ".join(
        f"WHEN {number} BETWEEN {-(2 ** (bits - 1))} AND {2 ** (bits - 1) - 1} THEN "
        + ("NULL" if each is type(kind) else literal(each().simpleString()))
        for each, bits in zip(_WHOLE_TYPES, (8, 16, 32), strict=False)
        if each in candidates
    )
    wider_whole = f"CASE {fitting} ELSE 'bigint' END" if fitting else "NULL"
    exact = is_decimal if prefers_decimal else f"{is_decimal} AND {scale} = 0"
    if prefers_decimal is None:
        decimal = "NULL"
    to_double = "" if isinstance(kind, T.LongType) else f"WHEN {is_decimal} OR {found} = 'DOUBLE' THEN 'double'"
    return f"CASE WHEN {is_long} THEN {wider_whole} WHEN {exact} THEN {decimal} {to_double} END"


def _fields(value: str) -> str:
    return f"try_variant_get({value}, '$', 'MAP<STRING, VARIANT>')"


def _bound(name: str, value: str, body: str) -> str:
    """SQL for `body`, in which `name` stands for `value`."""
    return f"element_at({_list_of(name, value, body)}, 1)"


def _list_of(name: str, value: str, body: str) -> str:
    return f"transform(array({value}), {name} -> {body})"
