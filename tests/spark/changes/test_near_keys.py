"""Which rows and files of a table come near the keys of a batch."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.spark.writers.changes.candidate_rows import candidate_row_filter

_NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
_SCHEMA = "window STRUCT<start: TIMESTAMP, end: TIMESTAMP>, day DATE, shop STRING"


def _window(start: datetime | None, shop: str, day: date | None = None) -> tuple[Any, ...]:
    return (start and (start, start + timedelta(minutes=5))), day or (start or _NOON).date(), shop


_HOURS = [_NOON - timedelta(days=40), _NOON - timedelta(hours=2), _NOON]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four files: a window of each hour in two shops, and one without a window."""
    path = str(tmp_path_factory.mktemp("near") / "table")
    for start in (*_HOURS, None):
        rows = spark.createDataFrame([_window(start, "a"), _window(start, "b")], _SCHEMA).coalesce(1)
        rows.write.format("delta").mode("append").save(path)
    return path


@pytest.mark.parametrize(
    ("keys", "files"),
    [
        pytest.param([_window(_NOON, "a")], 1, id="the newest"),
        pytest.param([_window(_NOON, "a"), _window(_HOURS[1], "b")], 2, id="from the first to the newest"),
        pytest.param([_window(_NOON, "a"), _window(None, "b")], 2, id="and one without a time"),
        pytest.param([_window(None, "b")], 3, id="without a time: those of its day, and of any time"),
        pytest.param([_window(_HOURS[0], "a"), _window(None, "a")], 4, id="all"),
        pytest.param([_window(_NOON, "a", date(9999, 12, 31))], 1, id="a day that is not compared"),
        pytest.param([_window(_NOON + timedelta(days=1), "a")], 0, id="a new one"),
    ],
)
def test_each_row_with_a_key_is_near_and_older_files_are_not_read(
    spark: SparkSession, table: str, keys: list[tuple[Any, ...]], files: int
) -> None:
    batch = spark.createDataFrame(keys, _SCHEMA)
    condition = candidate_row_filter(batch, len(keys), path=table)
    assert condition is not None
    near = spark.read.format("delta").load(table).alias("t").where(condition)
    assert len(near.inputFiles()) == files
    assert _rows(near.select("window", "day", "shop")) >= _rows(_stored(spark, table).intersect(batch))


def _stored(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.format("delta").load(table).select("window", "day", "shop")


def _rows(frame: DataFrame) -> set[str]:
    return {row.json for row in frame.select(sf.to_json(sf.struct("*")).alias("json")).collect()}
