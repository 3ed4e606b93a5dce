"""Cells of tables as values of Python and of JSON, also those that Spark can hold and they cannot."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DAYS_IN_400_YEARS: Final = 146_097
_DAY_SECONDS: Final = 86_400


def python_values(column: pa.ChunkedArray[Any]) -> list[Any]:
    """Returns the values of a column, as `to_pylist` does, for any value.

    A date or time outside of the years 1 to 9999 is text in ISO 8601, with the sign of its year: `+10000-01-01`, and a
    moment in UTC. In text that is not UTF-8, U+FFFD replaces what cannot be read.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, NotImplementedError):
        return [_python_value(each) for each in column]


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Returns the rows of a table by the names of its columns, in values as `python_values` gives them."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def json_value(value: Any) -> Any:
    """Returns a cell, or rows of them, as JSON can hold it.

    Times are ISO 8601, decimals keep their digits as text, bytes are Base64. NaN and the infinities are the texts that
    Spark writes for them. A map whose keys are not all text is a list of pairs.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else float_text(value)
        case Mapping():
            if all(isinstance(key, str) for key in value):
                return {key: json_value(each) for key, each in value.items()}
            return [[json_value(key), json_value(each)] for key, each in value.items()]
        case list() | tuple() | set() | frozenset():
            return [json_value(each) for each in value]
        case _:
            return json_scalar(value)


def json_scalar(value: Any) -> Any:
    """Returns what JSON has for a value of a type that it does not know: the `default` of `json.dumps`."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return f"{value:f}"
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case set() | frozenset():
            return list(value)
        case _:
            return str(value)


def float_text(value: float) -> str:
    """Returns a number that is not finite in the words of Spark."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _python_value(scalar: Any) -> Any:
    import pyarrow as pa

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_struct(kind):
        return {kind.field(index).name: _python_value(scalar[index]) for index in range(kind.num_fields)}
    if pa.types.is_map(kind):
        pairs = [_python_value(each) for each in scalar.values]
        return [tuple(pair.values()) for pair in pairs]
    if pa.types.is_nested(kind):
        return [_python_value(each) for each in scalar.values]
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, NotImplementedError):
        return _text(scalar)


def _text(scalar: Any) -> str:
    import pyarrow as pa

    kind = scalar.type
    if pa.types.is_date32(kind):
        return _iso_date(scalar.value)
    if pa.types.is_timestamp(kind):
        digits = _UNITS[kind.unit]
        seconds, fraction = divmod(scalar.value, 10**digits)
        days, second = divmod(seconds, _DAY_SECONDS)
        part = f".{fraction:0{digits}d}" if fraction else ""
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{part}"
        return f"{_iso_date(days)}T{clock}{'' if kind.tz is None else '+00:00'}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return str(scalar.as_buffer().to_pybytes().decode("utf-8", "replace"))
    return str(scalar.cast(pa.string()).as_py())


def _iso_date(days: int) -> str:
    """A day since 1970-01-01: the calendar repeats itself after 400 years, so Python knows a day like it."""
    cycles, rest = divmod(days, _DAYS_IN_400_YEARS)
    alike = date(1970, 1, 1) + timedelta(rest)
    year = alike.year + 400 * cycles
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{alike:%m-%d}"
