"""An average is merged where its sum and its count are in the view, with the digits of Spark's own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.spark.incremental.random_tables import RandomTables
from tests.spark.incremental.random_views import RandomView

from penstock.events import RefreshMethod
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.writers.incremental.refresh import REWRITTEN_BELOW, capability

_MERGED = (
    "SELECT k, avg(v / 7) AS a, sum(v / 7) AS b, count(v / 7) AS c, mean(id) AS d, sum(id) AS e, count(id) AS f,"
    " avg(v) FILTER (WHERE s = 's1') AS g, count(v) FILTER (WHERE s = 's1') AS h, sum(v) FILTER (WHERE s = 's1') AS i,"
    " avg(coalesce(id, 0)) AS j, sum(coalesce(id, 0)) AS l, count(*) AS m FROM {f} GROUP BY k"
)
_COMPUTED_AGAIN = {
    "alone": "SELECT k, avg(v) AS a, count(v) AS c FROM {f} GROUP BY k",
    "another count": "SELECT k, avg(v) AS a, sum(v) AS b, count(*) AS c FROM {f} GROUP BY k",
    "another sum": "SELECT k, avg(v) AS a, sum(v + 1) AS b, count(v) AS c FROM {f} GROUP BY k",
    "another filter": "SELECT k, avg(v) AS a, sum(v) FILTER (WHERE id > 1) AS b, count(v) AS c FROM {f} GROUP BY k",
    "DOUBLE": "SELECT k, avg(d) AS a, sum(d) AS b, count(d) AS c FROM {f} GROUP BY k",
    "try_avg": "SELECT k, try_avg(v) AS a, sum(v) AS b, count(v) AS c FROM {f} GROUP BY k",
}


@pytest.fixture(autouse=True)
def _by_what_has_changed() -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")


@pytest.mark.slow  # test_views_follow_their_inputs has an average
def test_an_average_follows_from_its_sum_and_count(spark: SparkSession, tmp_path: Path) -> None:
    tables = RandomTables(spark, tmp_path, Random(1))
    written = RandomView(tables, _MERGED, str(tmp_path / "written"), rewritten_below=REWRITTEN_BELOW)
    merged = RandomView(tables, _MERGED, str(tmp_path / "merged"), rewritten_below=0)
    for view in (written, merged):
        view.refresh()
    rows = "SELECT id - 20, id % 7 AS k, CAST(NULLIF(id % 3, 0) * -2.35 AS DECIMAL(12,2)), d, 's1', t, xs FROM {f}"
    spark.sql(tables.query(f"INSERT INTO {{f}} {rows}"))
    assert {view.refresh() for view in (written, merged)} == {RefreshMethod.MERGE_GROUPS}


def test_other_averages_are_computed_again(spark: SparkSession, tmp_path: Path) -> None:
    tables = RandomTables(spark, tmp_path, Random(1))

    def methods(query: str) -> tuple[RefreshMethod, ...]:
        return capability(spark.sql(tables.query(query))).methods

    assert methods(_MERGED) == (RefreshMethod.MERGE_GROUPS, RefreshMethod.RECOMPUTE_KEYS)
    found = {why: methods(query) for why, query in _COMPUTED_AGAIN.items()}
    assert found == dict.fromkeys(_COMPUTED_AGAIN, (RefreshMethod.RECOMPUTE_KEYS,))
