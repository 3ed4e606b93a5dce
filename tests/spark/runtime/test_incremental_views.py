"""A materialized view is refreshed by what has changed in its inputs, and has the rows of a full refresh."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.plans.row_difference import compare_rows
from penstock.spark.writers.incremental import write
from penstock.spark.writers.incremental.refresh import View

SHOP = """
INCREMENTAL = dlt.table(refresh_policy="Incremental")

@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING, amount DECIMAL(10,2)").json("in")

@INCREMENTAL
def large():
    return dlt.read("orders").where("amount > 5")

@INCREMENTAL
@dlt.expect("some", "orders > 1")
def kinds():
    return dlt.read("orders").groupBy("kind").agg(F.sum("amount").alias("amount"), F.count("*").alias("orders"))

@INCREMENTAL
def totals():
    return spark.sql(
        "SELECT kind, sum(amount) amount, count(amount) orders, avg(amount) mean, max(id) newest"
        " FROM orders GROUP BY kind"
    )

@INCREMENTAL
def best():
    return spark.sql(
        "SELECT * FROM (SELECT *, rank() OVER (PARTITION BY kind ORDER BY amount DESC) AS place FROM orders)"
        " WHERE place = 1"
    )

@INCREMENTAL
def named():
    return dlt.read("large").join(dlt.read("totals").select("kind", "newest"), "kind", "left")

@dlt.table
def means():
    return dlt.read("orders").groupBy("kind").agg(F.avg("amount").alias("mean"))

@dlt.table
def first():
    return spark.sql("SELECT id FROM orders ORDER BY id LIMIT 1")
"""
QUERIES = {
    "large": "SELECT * FROM orders WHERE amount > 5",
    "kinds": "SELECT kind, sum(amount) amount, count(*) orders FROM orders GROUP BY kind",
    "totals": "SELECT kind, sum(amount) amount, count(amount) orders, avg(amount) mean, max(id) newest"
    " FROM orders GROUP BY kind",
    "best": "SELECT * FROM (SELECT *, rank() OVER (PARTITION BY kind ORDER BY amount DESC) place FROM orders)"
    " WHERE place = 1",
    "named": "SELECT l.kind, l.id, l.amount, t.newest FROM (SELECT * FROM orders WHERE amount > 5) l"
    " LEFT JOIN (SELECT kind, max(id) newest FROM orders GROUP BY kind) t ON l.kind = t.kind",
    "means": "SELECT kind, avg(amount) mean FROM orders GROUP BY kind",
    "first": "SELECT id FROM orders ORDER BY id LIMIT 1",
}


@pytest.fixture(autouse=True)
def _by_what_has_changed(spark: SparkSession) -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")


def _methods(project: PipelineProject) -> dict[str, str]:
    return {name: _note(project, name).get("method", "full") for name in QUERIES}


def _note(project: PipelineProject, name: str) -> dict[str, Any]:
    newest = sorted((project.path(name) / "_delta_log").glob("*.json"))[-1]
    infos = [json.loads(line) for line in newest.read_text().splitlines() if line.startswith('{"commitInfo"')]
    note: dict[str, Any] = json.loads(infos[0]["commitInfo"]["userMetadata"])["penstock.refresh"]
    return note


def _assert_as_recomputed(project: PipelineProject, spark: SparkSession) -> None:
    orders = spark.read.format("delta").load(str(project.path("orders")))
    for name, query in QUERIES.items():
        found = spark.read.format("delta").load(str(project.path(name)))
        expected = spark.sql(query.replace("FROM orders", "FROM {orders}"), orders=orders)
        assert compare_rows(found, expected, limit=5).same, name


def test_views_follow_their_inputs(project: PipelineProject, spark: SparkSession) -> None:
    project.write(SHOP)
    project.arrive("1", [{"id": n, "kind": "abc"[n % 3], "amount": n} for n in range(1, 40)])
    assert project.run().errors == ()
    assert set(_methods(project).values()) == {"full"}
    _assert_as_recomputed(project, spark)

    project.arrive("2", [{"id": 50, "kind": "a", "amount": 3}, {"id": 51, "kind": "d", "amount": 60}])
    update = project.run()
    assert update.errors == ()
    assert _methods(project) == {
        "large": "append rows",
        "kinds": "recompute keys",
        "totals": "merge groups",
        "best": "recompute keys",
        "named": "recompute keys",
        "means": "full",
        "first": "full",
    }
    _assert_as_recomputed(project, spark)
    said = [each.message for each in project.events(update)]
    assert any("shop.means is computed in full: 2 keys have changed, and the view has 3 rows" in each for each in said)
    assert project.written(update)["large"] == 1
    assert project.quality(update)["kinds", "some"] == (3, 1, "warn")

    spark.sql(f"DELETE FROM delta.`{project.path('orders')}` WHERE id IN (10, 11, 51)")
    spark.sql(f"UPDATE delta.`{project.path('orders')}` SET amount = 1 WHERE id = 39")
    assert project.run().errors == ()
    assert _methods(project)["large"] == "change rows"
    assert _methods(project)["totals"] == "recompute keys"
    _assert_as_recomputed(project, spark)


def test_a_refresh_that_was_committed_when_it_failed_is_not_applied_again(
    project: PipelineProject, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(SHOP)
    project.arrive("1", [{"id": n, "kind": "abc"[n % 3], "amount": n} for n in range(1, 20)])
    assert project.run(refresh=("orders", "totals")).errors == ()
    project.arrive("2", [{"id": 50, "kind": "a", "amount": 3}])
    stored = View.stored
    monkeypatch.setattr(View, "stored", lambda *of: replace(stored(*of), is_rewritten=False))  # as for a large view

    def gone(*_: object) -> None:
        raise MemoryError("the process died behind its commit")

    with monkeypatch.context() as patched:
        patched.setattr(write, "await_counters", gone)
        assert project.run(refresh=("orders", "totals")).errors != ()
    committed = project.version("totals")
    operations = [each["operation"] for each in DeltaTable(str(project.path("totals"))).history()]
    assert operations.count("MERGE") == 1, "what was tried again has found nothing new"
    assert project.run(refresh=("totals",)).errors == ()
    assert project.version("totals") == committed
    assert project.rows("totals", "kind", "newest") == [("a", 50), ("b", 19), ("c", 17)]
    assert sum(project.rows("totals", "amount")) == sum(range(1, 20)) + 3


def test_what_vacuum_has_removed_is_computed_in_full(project: PipelineProject, spark: SparkSession) -> None:
    project.write(SHOP)
    project.arrive("1", [{"id": n, "kind": "a", "amount": n} for n in range(1, 40)])
    assert project.run(refresh=("orders", "large")).errors == ()
    orders = str(project.path("orders"))
    spark.sql(f"DELETE FROM delta.`{orders}` WHERE id > 30")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        spark.sql(f"VACUUM delta.`{orders}` RETAIN 0 HOURS")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    update = project.run(refresh=("large",))
    assert update.errors == ()
    assert project.rows("large", "id") == list(range(6, 31))
    said = [each.message for each in project.events(update) if "technique_information" in str(each.details)]
    assert any("in full: what has changed cannot be" in each for each in said), said


def test_values_that_are_rounded_when_they_are_stored_are_computed_in_full(project: PipelineProject) -> None:
    project.write(
        SHOP
        + """
@dlt.table(refresh_policy="incremental", schema="kind STRING, amount DECIMAL(32,1)")
def rounded():
    return dlt.read("orders").groupBy("kind").agg(F.sum("amount").alias("amount"))
"""
    )
    for number in ("1", "2", "3"):
        project.arrive(number, [{"id": int(number), "kind": "a", "amount": 1.04}])
        update = project.run(refresh=("orders", "rounded"))
        assert update.errors == ()
    assert [str(each) for each in project.rows("rounded", "amount")] == ["3.1"], "not three times 1.0"
    assert any("columns of other types than its query" in each.message for each in project.events(update))
