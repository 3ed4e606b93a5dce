"""What the tables must hold after the batches, computed in plain Python from the rows of the batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.differences import Rows, differences

_KEYS = ("window.start", "window.end", "shop")
_VALUES = ("orders", "revenue")


def problems(spark: SparkSession, tables: Mapping[str, str], batches: Iterable[str]) -> list[str]:
    """Returns what is wrong with the tables, by the ways that wrote them; none when all is right.

    Each table has merged these folders of windows, in their order.
    """
    expected = _merged(spark, batches)
    found = {way: Counter(_rows(spark.read.format("delta").load(path))) for way, path in tables.items()}
    lines = [line for way, rows in found.items() for line in differences(way, rows, expected)]
    (one, its), (other, others) = found.items()
    return [*lines, *differences(f"{one}, compared with {other}", its, others)]


def _merged(spark: SparkSession, batches: Iterable[str]) -> Rows:
    windows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for folder in batches:
        windows.update((row[: len(_KEYS)], row) for row in _rows(spark.read.parquet(folder)))
    return Counter(windows.values())


def _rows(windows: DataFrame) -> list[tuple[Any, ...]]:
    return list(map(tuple, windows.select(*_KEYS, *_VALUES).collect()))
