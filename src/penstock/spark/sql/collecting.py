"""The rows of a query as Python values, also where Spark holds values that Python does not have."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

_NEVER = (T.YearMonthIntervalType, T.CalendarIntervalType)
_NOT_ALWAYS = (T.DateType, T.TimestampType, T.TimestampNTZType)


def collect_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Returns all rows: a struct as its names and values, a map whose keys are not text as pairs.

    Intervals of months are text as Spark writes it, and so are dates and times outside of the years 1 to 9999, in the
    form of ISO 8601; the query runs twice where there are such.

    Raises:
        PySparkException: what the query fails with.
    """
    frame = _as_text(frame, _NEVER)
    kinds = [field.dataType for field in frame.schema]
    try:
        return [tuple(map(_plain, row)) for row in frame.collect()]
    except (ValueError, OverflowError, OSError):
        rows = _as_text(frame, _NOT_ALWAYS).collect()
    return [tuple(_parsed(_plain(value), kind) for value, kind in zip(row, kinds, strict=True)) for row in rows]


def _as_text(frame: DataFrame, types: tuple[type[T.DataType], ...]) -> DataFrame:
    """Casts values of some types to text, wherever they are nested."""
    wanted = [
        _replaced(field.dataType, lambda kind: T.StringType() if isinstance(kind, types) else kind)
        for field in frame.schema
    ]
    if wanted == [field.dataType for field in frame.schema]:
        return frame
    distinct = frame.toDF(*(f"_{position}" for position in range(len(wanted))))  # a name can be there twice
    return distinct.select(*(sf.col(name).cast(kind) for name, kind in zip(distinct.columns, wanted, strict=True)))


def _replaced(kind: T.DataType, leaf: Callable[[T.DataType], T.DataType]) -> T.DataType:
    match kind:
        case T.StructType():
            return T.StructType(
                [T.StructField(each.name, _replaced(each.dataType, leaf), each.nullable) for each in kind]
            )
        case T.ArrayType():
            return T.ArrayType(_replaced(kind.elementType, leaf), kind.containsNull)
        case T.MapType():
            return T.MapType(_replaced(kind.keyType, leaf), _replaced(kind.valueType, leaf), kind.valueContainsNull)
    return leaf(kind)


def _plain(value: Any) -> Any:
    match value:
        case Row():
            return {name: _plain(each) for name, each in zip(value.__fields__, value, strict=True)}
        case dict():
            pairs = [(_plain(key), _plain(each)) for key, each in value.items()]
            return dict(pairs) if all(isinstance(key, str) for key in value) else pairs
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _parsed(value: Any, kind: T.DataType) -> Any:
    """Returns times that were cast to text as such again, and those that Python does not have in ISO 8601."""
    match kind, value:
        case T.DateType(), str():
            return _or_text(date.fromisoformat, value)
        case T.TimestampType() | T.TimestampNTZType(), str():
            return _or_text(datetime.fromisoformat, value.replace(" ", "T", 1))
        case T.StructType(), dict():
            return {each.name: _parsed(value[each.name], each.dataType) for each in kind}
        case T.ArrayType(), list():
            return [_parsed(each, kind.elementType) for each in value]
        case T.MapType(), dict() | list():
            pairs = value.items() if isinstance(value, dict) else value
            found = [(_parsed(key, kind.keyType), _parsed(each, kind.valueType)) for key, each in pairs]
            return dict(found) if isinstance(kind.keyType, T.StringType) else found
    return value


def _or_text(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return text
