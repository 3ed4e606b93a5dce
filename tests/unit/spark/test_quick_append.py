"""Few rows reach a table without Spark: what its files then say, and when Spark has to write."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake
from pyspark.sql.types import (
    ArrayType,
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

from penstock.spark.delta import quick_append
from penstock.spark.writers.changes.log import Order

KEY = StructType([StructField("id", LongType(), nullable=False)])
DAY = datetime(2026, 3, 1, 12, 0, 0, 123_999, tzinfo=UTC).replace(tzinfo=None)


def schema(sequence: DataType) -> StructType:
    fields = [("key", KEY), ("sequence", sequence)]
    return StructType([StructField(name, kind) for name, kind in fields])


def create(path: Path, sequence: DataType, configuration: dict[str, str | None] | None = None) -> DeltaTable:
    stored = Schema.from_json(json.dumps(schema(sequence).jsonValue()))
    return DeltaTable.create(path, stored, configuration=configuration)


def events(kind: pa.DataType, *sequences: Any) -> pa.Table:
    keys = pa.array([{"id": number} for number, _ in enumerate(sequences)], pa.struct([("id", pa.int64())]))
    return pa.table({"key": keys, "sequence": pa.array(sequences, kind)})


def test_rows_are_appended_once_for_a_transaction(tmp_path: Path) -> None:
    log = create(tmp_path / "log", LongType())
    assert quick_append.can_append(log, schema(LongType()))
    for version, at in ((0, 10), (0, 11), (1, 12), (0, 13)):
        quick_append.append(log, events(pa.int64(), at), ("app", version))
    quick_append.append(log, events(pa.int64(), 14), ("other", 0))
    table = DeltaTable(tmp_path / "log")
    assert sorted(row["sequence"] for row in table.to_pyarrow_table().to_pylist()) == [10, 12, 14]
    assert (table.transaction_version("app"), table.transaction_version("other")) == (1, 0)


def test_bounds_that_are_not_exact_are_left_out(tmp_path: Path) -> None:
    log = create(tmp_path / "log", DecimalType(38, 6))
    value = Decimal("12345678901234567890.123456")
    told = []
    for number, bounds in enumerate((True, False)):
        quick_append.append(log, events(pa.decimal128(38, 6), value), ("app", number), bounds=bounds)
        commit = (tmp_path / "log" / "_delta_log" / f"{number + 1:020d}.json").read_text()
        [added] = [json.loads(line)["add"] for line in commit.splitlines() if line.startswith('{"add"')]
        told.append(json.loads(added["stats"]))
    assert Decimal(repr(told[0]["maxValues"]["sequence"])) != value, "why they are left out"
    assert told[1] == {"numRecords": 1, "minValues": {}, "maxValues": {}, "nullCount": {}}


def test_what_spark_has_to_write(tmp_path: Path) -> None:
    log = create(tmp_path / "log", LongType())
    assert not quick_append.can_append(log, schema(StringType())), "another type"
    assert not quick_append.can_append(log, StructType([*schema(LongType()).fields, StructField("row", KEY)]))
    tags = MapType(StringType(), StringType())
    assert not quick_append.can_append(create(tmp_path / "map", tags), schema(tags))
    words = StringType("UTF8_LCASE")
    assert not quick_append.can_append(create(tmp_path / "text", ArrayType(StringType())), schema(ArrayType(words)))
    featured = create(tmp_path / "featured", LongType(), {"delta.enableChangeDataFeed": "true"})
    assert not quick_append.can_append(featured, schema(LongType()))
    assert quick_append.can_append(create(tmp_path / "ntz", TimestampNTZType()), schema(TimestampNTZType()))


@pytest.mark.parametrize(
    ("kind", "arrow", "logged", "earlier", "later"),
    [
        (LongType(), pa.int64(), [3, 2**53 + 1], [2**53 + 1], [2**53 + 2]),
        (DateType(), pa.date32(), [date(1969, 1, 1), date(2026, 3, 1)], [date(2026, 3, 1)], [date(2026, 3, 2)]),
        (StringType(), pa.string(), ["a" * 100, "b" * 100], ["b" * 100 + "c", "d"], ["c", "d"]),
        # A file's timestamps are in milliseconds, rounded down.
        (TimestampNTZType(), pa.timestamp("us"), [DAY], [DAY], [DAY.replace(microsecond=125_000)]),
        (
            TimestampType(),
            pa.timestamp("us", tz="UTC"),
            [DAY.replace(tzinfo=UTC)],
            [DAY.replace(tzinfo=UTC)],
            [DAY.replace(microsecond=125_000, tzinfo=UTC)],
        ),
    ],
)
def test_files_tell_whether_an_older_event_may_be_as_late(
    tmp_path: Path, kind: DataType, arrow: pa.DataType, logged: list[Any], earlier: list[Any], later: list[Any]
) -> None:
    order = Order(kind)
    log = create(tmp_path / "log", kind)
    assert order.stats_are_exact
    assert not order.may_reach(log, order.earliest_of(events(arrow, *logged))[1]), "an empty log"
    quick_append.append(log, events(arrow, *logged[:1]), ("app", 0))
    quick_append.append(log, events(arrow, *logged), ("app", 1))
    assert order.may_reach(log, order.earliest_of(events(arrow, *logged))[1])
    assert order.may_reach(log, order.earliest_of(events(arrow, *earlier))[1])
    assert not order.may_reach(log, order.earliest_of(events(arrow, *later))[1])


def test_of_several_columns_the_first_decides(tmp_path: Path) -> None:
    kind = StructType(
        [StructField("a.b", StructType([StructField("day", LongType())])), StructField("n", DoubleType())]
    )
    arrow = pa.struct([("a.b", pa.struct([("day", pa.int64())])), ("n", pa.float64())])
    log = create(tmp_path / "log", kind)
    quick_append.append(log, events(arrow, {"a.b": {"day": 7}, "n": 1.0}), ("app", 0))
    order = Order(kind)
    assert order.earliest_of(events(arrow, {"a.b": {"day": 9}, "n": 2.0}, {"a.b": {"day": 8}, "n": 3.0})) == ("8", 8)
    assert not order.may_reach(log, 8)
    assert order.may_reach(log, 7)


def test_files_that_do_not_tell(tmp_path: Path) -> None:
    assert not Order(DecimalType(38, 0)).stats_are_exact
    assert not Order(DoubleType()).stats_are_exact
    assert not Order(StringType("UTF8_LCASE")).stats_are_exact
    order = Order(LongType())
    log = create(tmp_path / "log", LongType(), {"delta.dataSkippingNumIndexedCols": "1"})
    quick_append.append(log, events(pa.int64(), 1), ("app", 0))
    assert order.may_reach(log, 100)
    assert order.may_reach(log, None)
    partly = create(tmp_path / "partly", LongType())
    quick_append.append(partly, events(pa.int64(), 1), ("app", 0))
    partly.alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "0"})
    write_deltalake(partly, events(pa.int64(), 9), mode="append")
    assert order.may_reach(partly, 5)
    moment = order.earliest_of(events(pa.int64()))
    assert moment == (None, None)
