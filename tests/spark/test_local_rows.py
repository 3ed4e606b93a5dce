"""`spark.createDataFrame` in a pipeline takes what Spark Connect takes: compared with Connect's own conversion."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.types import DataType, StructType
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.reading.hooks import install_read_hooks
from penstock.spark.reading.read_handler import ReadHandler, handling_reads

_TYPES = """
    tinyint smallint int bigint float double decimal(10,2) boolean string date timestamp timestamp_ntz binary
    array<double> map<string,double> struct<a:double,b:int>
"""
_VALUES: list[Any] = [
    *(1, 2**40, 1.0, 1.5, True, "1", "x", "2021-01-01", b"1", Decimal("1.5"), Decimal(1), float("inf"), None),
    *(np.int64(3), np.float32(1.5), np.float64(1.5), np.bool_(True), dt.date(2021, 1, 1), dt.timedelta(1)),
    *(
        dt.datetime.fromisoformat("2021-01-01T05:00"),
        dt.datetime(2021, 1, 1, tzinfo=dt.UTC),
        [1, 2.5],
        (1, 2),
        {"a": 1},
        {"b": 2.0},
    ),
]
_ROWS: dict[str, tuple[str, list[Any]]] = {
    "integers among floats": ("id INT, reading FLOAT", [(1, 450), (2, 3.5)]),
    "lists": ("id INT, reading FLOAT", [[1, 450], [2, 3.5]]),
    "dictionaries by name": ("id INT, reading FLOAT", [{"reading": 450, "id": 1}, {"id": 2}]),
    "rows by place": ("id INT, reading FLOAT", [Row(x=1, y=450)]),
    "single values": ("FLOAT", [450, 3.5]),
    "nested": ("s STRUCT<a: DOUBLE, l: ARRAY<FLOAT>>", [({"a": 1, "l": [1, 2.5]},), ((2, [3]),)]),
}


@pytest.fixture
def in_pipeline() -> Iterator[None]:
    """A pipeline's code runs, whose reads nothing answers."""
    install_read_hooks()
    with handling_reads(cast("ReadHandler", object())):
        yield


def _of_connect(rows: list[Any], schema: StructType) -> list[Row] | None:
    try:
        table = LocalDataToArrowConversion.convert(rows, schema, False)
    except Exception:  # noqa: BLE001 - assertions and errors of Arrow
        return None
    return ArrowTableToRowsConversion.convert(table, schema)


def _collected(spark: SparkSession, rows: Any, schema: Any) -> list[Row]:
    frame = spark.createDataFrame(rows, schema)
    with handling_reads(None):
        return frame.collect()


@pytest.mark.parametrize("kind", _TYPES.split())
def test_values_are_taken_as_connect_takes_them(spark: SparkSession, in_pipeline: None, kind: str) -> None:
    schema = StructType().add("value", DataType.fromDDL(kind))
    for value in _VALUES:
        right = _of_connect([(value,)], schema)
        with handling_reads(None):
            try:
                classic = _collected(spark, [(value,)], schema)
            except PySparkException:
                classic = None
        if classic is None and right is None:
            with pytest.raises(PySparkException):
                spark.createDataFrame([(value,)], schema)
        else:
            assert _collected(spark, [(value,)], schema) == (right if classic is None else classic), value


@pytest.mark.parametrize("name", _ROWS)
def test_rows_are_taken_as_connect_takes_them(spark: SparkSession, in_pipeline: None, name: str) -> None:
    ddl, rows = _ROWS[name]
    kind: Any = DataType.fromDDL(ddl)
    with handling_reads(None), pytest.raises(PySparkException):
        spark.createDataFrame(rows, kind)
    schema = kind if isinstance(kind, StructType) else StructType().add("value", kind)
    wrapped = rows if isinstance(kind, StructType) else [(each,) for each in rows]
    assert _collected(spark, rows, ddl) == _of_connect(wrapped, schema)
    assert _collected(spark, iter(rows), kind) == _of_connect(wrapped, schema)


def test_first_refusal_stays_where_connect_refuses_too(spark: SparkSession, in_pipeline: None) -> None:
    with pytest.raises(PySparkException, match="FIELD_DATA_TYPE_UNACCEPTABLE"):
        spark.createDataFrame([(1, "2021-01-01")], "id INT, day DATE")


def test_pipeline_reads_integers_as_floats(project: PipelineProject) -> None:
    project.write(
        """
        LIMITS = spark.createDataFrame([(1, 450), (2, 3.5)], "id INT, reading FLOAT")

        @dp.materialized_view
        def readings():
            return spark.createDataFrame([(3, 7)], schema="id INT, reading FLOAT").union(LIMITS)
        """
    )
    assert project.run().errors == ()
    assert project.rows("readings", "id", "reading") == [(1, 450.0), (2, 3.5), (3, 7.0)]
