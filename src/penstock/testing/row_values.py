"""The values of fed rows: what a column of each type takes, and how they are written into files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import DataError, did_you_mean
from penstock.storage import Storage
from penstock.storage.cell_values import float_text, python_rows
from penstock.storage.delta.table import all_rows, open_delta_table

_WHOLE = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


def checked_row(row: Mapping[str, Any], schema: StructType, *, source: str, number: int) -> dict[str, Any]:
    """Returns a fed row with the columns of `schema`, in its types; a column that the row leaves out is NULL.

    Raises:
        DataError: FED_COLUMN_UNKNOWN, FED_VALUE_INVALID.
    """
    known = {field.name.casefold(): field for field in schema.fields}
    for column in row:
        if column.casefold() not in known:
            names = schema.fieldNames()
            suggestion = did_you_mean(column, names, also=f"Its columns are {', '.join(names)}.")
            raise DataError("FED_COLUMN_UNKNOWN", name=source, row=number, column=column, suggestion=suggestion)
    given = {known[column.casefold()].name: value for column, value in row.items()}
    try:
        return {field.name: _checked(given.get(field.name), field.dataType, field.name) for field in schema.fields}
    except _TypeMismatch as mismatch:
        raise DataError(
            "FED_VALUE_INVALID",
            name=source,
            row=number,
            column=mismatch.column,
            value=mismatch.value,
            type=mismatch.type,
        ) from None


def json_line(row: Mapping[str, Any]) -> str:
    """Returns a row as a line of JSON, as a program would write it; times in UTC with their zone."""
    try:
        return json.dumps(row, default=_json_value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON has no NaN, and Spark reads the text as the number
        return json.dumps(_finite(row), default=_json_value, ensure_ascii=False)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return float_text(value)
        case Mapping():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
        case _:
            return value


def as_utc(moment: datetime) -> datetime:
    """Returns the moment in UTC; one without a zone is taken to be UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def with_zones(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row with its moments in UTC."""
    return {name: as_utc(value) if isinstance(value, datetime) else value for name, value in row.items()}


class _TypeMismatch(Exception):
    def __init__(self, value: Any, type_: DataType, column: str) -> None:
        self.value, self.type, self.column = repr(value), type_.simpleString(), column
        super().__init__(column)


def _json_value(value: Any) -> Any:
    match value:
        case datetime():
            return as_utc(value).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return value.decode()
        case _:
            return str(value)


def _checked(value: Any, wanted: DataType, column: str) -> Any:
    if value is None:
        return None
    try:
        found = _converted(value, wanted, column)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        found = None
    if found is None:
        raise _TypeMismatch(value, wanted, column)
    return found


def _converted(value: Any, wanted: DataType, column: str) -> Any:  # noqa: PLR0912 - one case a type
    """Returns the value in the column's type, None for one that does not fit."""
    match wanted, value:
        case (BooleanType(), bool()) | (StringType(), str()) | (BinaryType(), bytes()):
            return value
        case (_, bool()):
            return None
        case (ByteType() | ShortType() | IntegerType() | LongType(), int()):
            bits = _WHOLE[type(wanted)]
            return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None
        case (FloatType() | DoubleType(), int() | float() | Decimal()):
            return float(value)
        case (DecimalType(), int() | float() | Decimal() | str()):
            return _decimal(value, wanted)
        case (TimestampType(), datetime() | str()):
            return as_utc(value if isinstance(value, datetime) else datetime.fromisoformat(value))
        case (TimestampNTZType(), datetime() | str()):
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            return moment if moment.tzinfo is None else None
        case (DateType(), datetime()):
            return None
        case (DateType(), date()):
            return value
        case (DateType(), str()):
            return date.fromisoformat(value)
        case (BinaryType(), str()):
            return value.encode()
        case (BinaryType(), dict() | list()):
            return json_line(value).encode()  # type: ignore[arg-type]  # a list is JSON too
        case (ArrayType(), list() | tuple()):
            return [_checked(each, wanted.elementType, f"{column}[]") for each in value]
        case (MapType(), Mapping()):
            pairs = [(key, _checked(each, wanted.valueType, f"{column}.{key}")) for key, each in value.items()]
            return [(_checked(key, wanted.keyType, column), each) for key, each in pairs]
        case (StructType(), Mapping()):
            unknown = set(value) - set(wanted.fieldNames())
            fields = {
                each.name: _checked(value.get(each.name), each.dataType, f"{column}.{each.name}") for each in wanted
            }
            return None if unknown else fields
        case _:
            return None


def _decimal(value: Any, wanted: DecimalType) -> Decimal | None:
    number = Decimal(str(value))
    rounded = number.quantize(Decimal(1).scaleb(-wanted.scale))
    fits = rounded == number and len(rounded.as_tuple().digits) <= wanted.precision
    return rounded if fits else None


def write_rows(spark: SparkSession, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Creates a table of these rows, with the columns and types that they have; moments without a zone are UTC."""
    plain = [with_zones(row) for row in rows]
    spark.createDataFrame(pa.Table.from_pylist(plain)).write.format("delta").save(path)


def read_rows(path: str) -> list[dict[str, Any]]:
    """Returns the rows of a table as `python_rows` does; none when it does not exist. Moments are in UTC."""
    if not Storage(path).exists("_delta_log"):
        return []
    return python_rows(all_rows(open_delta_table(path)))
