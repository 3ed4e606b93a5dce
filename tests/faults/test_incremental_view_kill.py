"""kill -9 around the commits of views that are refreshed by what has changed: the next run gives each the right rows.

Before the commit nothing of the refresh counts; after it all of it does, with its note, and it is not done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession
from tests.faults import byteman
from tests.faults.crash_points import Call, JvmPlace, kill_when_held
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.plans.row_difference import compare_rows

_VIEWS: Final = {
    "large": "SELECT id, amount FROM orders WHERE amount > 5",
    "totals": "SELECT kind, sum(amount) AS amount, count(amount) AS n, avg(amount) AS mean FROM orders GROUP BY kind",
    "means": "SELECT kind, avg(amount) AS mean, count(DISTINCT id) AS ids FROM orders GROUP BY kind",
}
_PIPELINE: Final = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING, amount DECIMAL(10,2)").json("in")
""" + "".join(
    f"""
@dlt.table(refresh_policy="incremental")
def {name}():
    return spark.sql("{query}")
"""
    for name, query in _VIEWS.items()
)
_COMMIT: Final = "tables/shop/{table}/_delta_log/[0-9]{{20}}.json"


def _rows_arrive(project: PipelineProject, number: int) -> None:
    rows = [{"id": 100 * number + n, "kind": "abcd"[n % 4], "amount": n} for n in range(20)]
    project.arrive(str(number), rows)


def _rows_go(project: PipelineProject, number: int) -> None:
    orders = f"delta.`{project.path('orders')}`"
    project.spark.sql(f"DELETE FROM {orders} WHERE id % 7 = {number}")
    project.spark.sql(f"UPDATE {orders} SET amount = amount + 1 WHERE id % 5 = {number}")


@dataclass(frozen=True, slots=True)
class Point:
    """What has changed when the run is killed, and on which side of their commits all views then are."""

    change: Callable[[PipelineProject, int], None]
    call: Call


_POINTS: Final = {
    "rows arrive, after the commit": Point(_rows_arrive, "after"),
    "rows arrive, before the commit": Point(_rows_arrive, "before"),
    "rows go, after the commit": Point(_rows_go, "after"),
    "rows go, before the commit": Point(_rows_go, "before"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> PipelineProject:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")
    made = PipelineProject(tmp_path_factory.mktemp("views"), spark)
    made.write(_PIPELINE)
    _rows_arrive(made, 10)
    assert made.run().errors == ()
    return made


@pytest.mark.slow  # test_incremental_views.py of tests/spark lets a refresh fail behind its commit
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", _POINTS)
def test_a_killed_refresh_leaves_the_right_view_to_the_next(
    project: PipelineProject, tmp_path: Path, name: str
) -> None:
    point = _POINTS[name]
    point.change(project, list(_POINTS).index(name))
    before = {view: project.version(view) for view in _VIEWS}
    signs = {view: tmp_path / view for view in _VIEWS}
    rules = "".join(JvmPlace(point.call, _COMMIT).rule(view, sign) for view, sign in signs.items())
    kill_when_held(("run", project.directory), byteman.environment(rules, tmp_path / "rules.btm"), list(signs.values()))
    committed = {view: project.version(view) for view in _VIEWS}
    assert committed == {view: version + (point.call == "after") for view, version in before.items()}
    assert project.run().errors == ()
    orders = project.spark.read.format("delta").load(str(project.path("orders")))
    for view, query in _VIEWS.items():
        found = project.spark.read.format("delta").load(str(project.path(view)))
        expected = project.spark.sql(query.replace("FROM orders", "FROM {orders}"), orders=orders)
        assert compare_rows(found, expected, limit=5).same, view
        if point.call == "after":
            assert project.version(view) == committed[view], "what is committed is not done again"
