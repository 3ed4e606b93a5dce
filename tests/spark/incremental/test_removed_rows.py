"""Groups follow from the rows that were removed, but for those of which the view does not have the answer."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest
from pyspark.sql import SparkSession
from tests.spark.incremental.random_tables import RandomTables
from tests.spark.incremental.random_views import RandomView, assert_same

from penstock.events import RefreshMethod
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.session.query_settings import query_settings
from penstock.spark.writers.incremental.refresh import REWRITTEN_BELOW

_VIEWS: Final = {
    "with count": (
        "SELECT k, count(*) AS m, sum(v) AS total, avg(id) AS mean, sum(id) AS ids, count(id) AS n FROM {f} GROUP BY k"
    ),
    "without": "SELECT s, max(id) AS hi, sum(CAST(id AS DECIMAL(38,10)) + 0.0000000001) AS total FROM {f} GROUP BY s",
    "all rows": "SELECT count(*) AS n, sum(id) AS total, min(id) AS lo FROM {f}",
}
_CHANGES: Final = (
    (
        (
            "INSERT INTO {f} SELECT id + 1000, k, v, d, s, t, xs FROM {f} WHERE id > 30",
            "UPDATE {f} SET v = v + 1, k = k + 1 WHERE id % 7 = 4",
        ),
        dict.fromkeys(_VIEWS, RefreshMethod.MERGE_GROUPS),
    ),
    (
        ("DELETE FROM {f} WHERE s = 's0'",),
        {
            "with count": RefreshMethod.MERGE_GROUPS,
            "without": RefreshMethod.RECOMPUTE_KEYS,
            "all rows": RefreshMethod.FULL,
        },
    ),
)
_SMALL: Final = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}


@pytest.fixture(autouse=True)
def _by_what_has_changed() -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")


def test_groups_follow_from_removed_rows(spark: SparkSession, tmp_path: Path) -> None:
    with query_settings(spark, _SMALL):
        tables = RandomTables(spark, tmp_path, Random(1))
        views = {
            name: RandomView(
                tables, query, str(tmp_path / f"v{number}"), rewritten_below=(1 - number % 2) * REWRITTEN_BELOW
            )
            for number, (name, query) in enumerate(_VIEWS.items())
        }
        for view in views.values():
            view.write()
        for statements, expected in _CHANGES:
            for each in statements:
                spark.sql(tables.query(each))
            assert {name: view.write() for name, view in views.items()} == expected, statements
            assert_same(list(views.values()))
