from __future__ import annotations

from datetime import date, datetime

from pyspark.sql import Row
from pyspark.sql.types import ArrayType as Array
from pyspark.sql.types import DateType, IntegerType, StringType, TimestampNTZType, YearMonthIntervalType
from pyspark.sql.types import MapType as Map
from pyspark.sql.types import StructField as Field
from pyspark.sql.types import StructType as Struct

from penstock.spark.sql.collecting import _parsed, _plain, _replaced


def test_structs_have_names_and_maps_without_text_as_keys_are_pairs() -> None:
    value = {Row(a=1): [Row(b={"x": Row(c=None)})]}
    assert _plain(value) == [({"a": 1}, [{"b": {"x": {"c": None}}}])]


def test_times_that_python_has_come_back_from_text_at_any_depth() -> None:
    inner = Struct([Field("d", DateType()), Field("at", TimestampNTZType()), Field("s", StringType())])
    kind = Map(DateType(), Array(inner))
    text = {
        "+10000-01-01": [{"d": "2026-01-02", "at": "-0001-01-01 00:00:00.5", "s": "2026-01-02"}],
        "2026-01-01": None,
    }
    assert _parsed(text, kind) == [
        ("+10000-01-01", [{"d": date(2026, 1, 2), "at": "-0001-01-01T00:00:00.5", "s": "2026-01-02"}]),
        (date(2026, 1, 1), None),
    ]
    assert _parsed("2026-01-02 03:04:05.5", TimestampNTZType()) == datetime(2026, 1, 2, 3, 4, 5, 500_000)  # noqa: DTZ001


def test_types_that_python_lacks_are_replaced_at_any_depth() -> None:
    kind = Struct([Field("a", Array(YearMonthIntervalType())), Field("n", Map(IntegerType(), DateType()))])
    found = _replaced(kind, lambda leaf: StringType() if isinstance(leaf, YearMonthIntervalType) else leaf)
    assert found == Struct([Field("a", Array(StringType())), Field("n", Map(IntegerType(), DateType()))])
