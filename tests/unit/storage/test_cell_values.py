from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.storage.cell_values import json_value, python_rows, python_values

DAY = 86_400_000_000
FAR = 2_932_897  # the first day of the year 10000, in days since 1970


def column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray[Any]:
    return pa.chunked_array([pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([0, FAR, None], pa.date32(), [date(1970, 1, 1), "+10000-01-01", None]),
        ([-719_163, -719_529, -1_000_000], pa.date32(), ["0000-12-31", "-0001-12-31", "-0768-02-04"]),
        ([FAR * DAY + 1], pa.timestamp("us", "UTC"), ["+10000-01-01T00:00:00.000001+00:00"]),
        ([FAR * DAY - DAY // 2], pa.timestamp("us"), [datetime(9999, 12, 31, 12)]),  # noqa: DTZ001 - of no zone
        ([FAR * DAY + DAY // 2], pa.timestamp("us"), ["+10000-01-01T12:00:00"]),
        ([-(2**63)], pa.timestamp("us", "UTC"), ["-290308-12-21T19:59:05.224192+00:00"]),
        ([2**63 - 1], pa.timestamp("us"), ["+294247-01-10T04:00:54.775807"]),
    ],
)
def test_dates_and_times_of_any_year(values: list[object], kind: pa.DataType, expected: list[object]) -> None:
    assert python_values(column(values, kind)) == expected


def test_values_that_python_cannot_hold_inside_of_others() -> None:
    days = pa.array([FAR, 0], pa.int32()).cast(pa.date32())
    names = pa.array(["a", "b"])
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"), pa.py_buffer(b"a\xffok")]
    )
    table = pa.table(
        {
            "struct": pa.StructArray.from_arrays([days, names], ["day", "name"]),
            "list": pa.ListArray.from_arrays([0, 1, 2], days),
            "map": pa.MapArray.from_arrays([0, 1, 2], days, names),  # type: ignore[call-overload]
            "text": broken,
        }
    )
    first, second = python_rows(table)
    assert first == {
        "struct": {"day": "+10000-01-01", "name": "a"},
        "list": ["+10000-01-01"],
        "map": [("+10000-01-01", "a")],
        "text": "a\ufffd",
    }
    assert second == {
        "struct": {"day": date(1970, 1, 1), "name": "b"},
        "list": [date(1970, 1, 1)],
        "map": [(date(1970, 1, 1), "b")],
        "text": "ok",
    }
    assert python_rows(pa.table({"none": pa.array([], pa.int32())})) == []


def test_json_of_values_that_json_does_not_know() -> None:
    values = {
        "floats": [math.nan, math.inf, -math.inf, 1.5],
        "digits": [Decimal("0E-18"), Decimal("1E+3"), Decimal("12345678901234567890123456789012345.678")],
        "bytes": b"\xff\0",
        "moment": datetime(2026, 1, 2, tzinfo=UTC),
        "interval": timedelta(days=1, seconds=1),
        "by day": {date(2026, 1, 2): math.nan, (1, "a"): None},
        "nested": [{"a": (1, {b"x": 1})}],
    }
    text = json.dumps(json_value(values), allow_nan=False)
    assert json.loads(text) == {
        "floats": ["NaN", "Infinity", "-Infinity", 1.5],
        "digits": ["0.000000000000000000", "1000", "12345678901234567890123456789012345.678"],
        "bytes": "/wA=",
        "moment": "2026-01-02T00:00:00+00:00",
        "interval": 86_401.0,
        "by day": [["2026-01-02", "NaN"], [[1, "a"], None]],
        "nested": [{"a": [1, [["eA==", 1]]]}],
    }
