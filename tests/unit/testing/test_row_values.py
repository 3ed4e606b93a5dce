from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import DataError
from penstock.testing.row_values import checked_row, json_line

_TEN = datetime(2026, 1, 1, 10, tzinfo=UTC)
_POINT = StructType([StructField("x", LongType()), StructField("at", TimestampType())])


def _checked(value: Any, type_: DataType) -> Any:
    return checked_row({"C": value}, StructType([StructField("c", type_)]), source="raw", number=1)["c"]


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("2026-01-01T10:00:00", TimestampType(), _TEN),
        ("2026-01-01T11:00:00+01:00", TimestampType(), _TEN),
        (datetime(2026, 1, 1, 10), TimestampType(), _TEN),  # noqa: DTZ001 - UTC then
        ("2026-01-01", DateType(), date(2026, 1, 1)),
        (3, DoubleType(), 3.0),
        ("1.5", DecimalType(4, 2), Decimal("1.50")),
        ({"a": 1}, BinaryType(), b'{"a": 1}'),
        ("text", BinaryType(), b"text"),
        (127, ByteType(), 127),
        ([1, None], ArrayType(LongType()), [1, None]),
        ({"a": 1}, MapType(StringType(), LongType()), [("a", 1)]),
        ({"x": 1, "at": "2026-01-01T10:00:00Z"}, _POINT, {"x": 1, "at": _TEN}),
        (None, LongType(), None),
    ],
)
def test_values_that_fit(value: Any, type_: DataType, expected: Any) -> None:
    assert _checked(value, type_) == expected


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("1", LongType()),
        (1.0, LongType()),
        (True, LongType()),
        (1, BooleanType()),
        (1, StringType()),
        (128, ByteType()),
        ("10 o'clock", TimestampType()),
        (_TEN, TimestampNTZType()),
        (_TEN, DateType()),
        ("1.005", DecimalType(4, 2)),
        ("100", DecimalType(4, 2)),
        ("many", DecimalType(4, 2)),
        (["a"], ArrayType(LongType())),
        ({"y": 1}, _POINT),
        ({"x": "1"}, _POINT),
    ],
)
def test_values_that_do_not(value: Any, type_: DataType) -> None:
    with pytest.raises(DataError) as refused:
        _checked(value, type_)
    assert refused.value.condition == "FED_VALUE_INVALID"
    assert refused.value.facts["row"] == "1"


def test_lines_of_json() -> None:
    assert (
        json_line({"n": [float("nan"), 1.5], "s": {"f": float("-inf")}})
        == '{"n": ["NaN", 1.5], "s": {"f": "-Infinity"}}'
    )
    line = json_line({"at": datetime(2026, 1, 1, 10), "paid": Decimal("1.50"), "on": date(2026, 1, 1)})  # noqa: DTZ001
    assert json.loads(line) == {"at": "2026-01-01T10:00:00Z", "paid": "1.50", "on": "2026-01-01"}
