"""When a materialized view is computed again, what a refresh leaves behind, and reading earlier versions."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import RefreshMaterializedView
from penstock.runtime import UpdateOutcome, plan_update

SHOP = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING, amount DOUBLE").json("in")

@dlt.table
def kinds():
    return dlt.read("orders").groupBy("kind").agg(F.sum("amount").alias("amount"), F.count("*").alias("orders"))

@dlt.table
def top():
    return spark.sql("SELECT kind, amount FROM kinds WHERE kind <> '#12' ORDER BY amount DESC LIMIT 1")

@dlt.view
def recent():
    return dlt.read("orders").where("id > 1")

@dlt.table
@dlt.expect("known", "id IS NOT NULL")
@dlt.expect_or_quarantine("odd", "id % 2 = 1")
def joined():
    return spark.sql('''
        WITH best AS (SELECT kind FROM top)
        SELECT r.id, k.orders, transform(array(r.id), x -> x + 1) AS later, EXISTS (SELECT 1 FROM best) AS any
        FROM recent r JOIN kinds k ON r.kind = k.kind WHERE r.kind IN (SELECT kind FROM best)
    ''').withColumn("again", F.transform("later", lambda each: each * 2))

@dlt.table
def with_time():
    return spark.range(1).select(F.current_timestamp().alias("at"))

@dlt.table
def of_outside():
    return spark.sql("SELECT * FROM delta.`outside`")

@dlt.table
def earlier():
    return spark.read.option("versionAsOf", 1).table("kinds")
"""
SKIPPED = {"kinds", "top", "joined", "of_outside", "earlier"}
RECOMPUTED = {"with_time"}
NOT_COMPARED = """
@F.udf("long")
def doubled(number):
    return number * 2

@dlt.table
def from_files():
    return spark.read.schema("id LONG").json("in")

@dlt.table
def from_python():
    return spark.createDataFrame([(1,)], "id LONG")

@dlt.table
def with_udf():
    return spark.range(1).select(doubled("id").alias("twice"))

@dlt.table
def with_chance():
    return spark.range(1).select(F.rand().alias("chance"))
"""
REASONS = {
    "from_files": "it reads files in",
    "from_python": "it reads rows made in Python, not only Delta tables",
    "with_udf": "its query calls a Python function, whose code is not compared",
    "with_chance": "its query is not deterministic",
}


def _computed(project: PipelineProject, outcome: UpdateOutcome) -> set[str]:
    assert outcome.errors == ()
    return set(project.written(outcome)) - {"orders"}


def _reasons(project: PipelineProject, *refresh: str) -> dict[str, str]:
    plan = plan_update(project.config, RefreshSelection(refresh=refresh), spark=project.spark).plan
    return {stage.dataset.name: stage.explanation for stage in plan.of_type(RefreshMaterializedView)}


def test_only_what_has_changed_is_computed_again(project: PipelineProject, spark: SparkSession) -> None:
    outside = str(project.directory / "outside")
    spark.range(2).write.format("delta").save(outside)
    project.write(SHOP)
    project.arrive("1", [{"id": 1, "kind": "a", "amount": 1.5}, {"id": 2, "kind": "b", "amount": 9.0}])
    assert _computed(project, project.run()) == SKIPPED | RECOMPUTED
    assert project.rows("kinds", "kind", "amount", "orders") == [("a", 1.5, 1), ("b", 9.0, 1)]
    assert project.rows("top", "kind") == ["b"]
    assert project.rows("joined__quarantine", "id", "orders", "again", "any") == [(2, 1, [6], True)]

    versions = {name: project.version(name) for name in (*SKIPPED, "joined__quarantine")}
    second = project.run()
    assert _computed(project, second) == RECOMPUTED
    assert {name: project.version(name) for name in versions} == versions
    assert project.statuses(second, "kinds") == ["QUEUED", "COMPLETED"]
    said = [event.message for event in project.events(second) if event.origin.dataset_name == "shop.kinds"]
    assert any("unchanged: no table that it reads has a new version" in message for message in said)
    planned = _reasons(project, *SKIPPED, *RECOMPUTED)
    for name in SKIPPED:
        assert planned[name].startswith("unchanged, not computed again"), name
    assert planned["with_time"].endswith("current_timestamp differs with each refresh")

    project.write(SHOP.replace("#12", "#13"))
    assert _reasons(project, "top")["top"].endswith("its definition has changed"), "a literal is no id of Spark"
    project.write(SHOP.replace("LIMIT 1", "LIMIT 2"))
    spark.range(3).write.format("delta").mode("append").save(outside)
    project.arrive("2", [{"id": 3, "kind": "a", "amount": 10.0}])
    assert _computed(project, project.run()) == RECOMPUTED | SKIPPED
    assert project.rows("kinds", "kind", "amount") == [("a", 11.5), ("b", 9.0)]
    assert project.rows("top", "kind") == ["a", "b"]
    assert len(project.rows("of_outside", "id")) == 5
    assert project.rows("earlier", "kind", "amount") == [("a", 1.5), ("b", 9.0)], "as of version 1, the first refresh"


def test_why_a_view_is_computed_at_each_refresh(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1}])
    project.write(NOT_COMPARED)
    graph = project.validate().graph
    assert graph is not None
    always = {flow.declaration.name: flow.definition.always for flow in graph.flows if flow.definition is not None}
    assert always.keys() == REASONS.keys()
    for name, why in REASONS.items():
        assert str(always[name]).startswith(why), name


@pytest.mark.slow  # test_continuous.py has a view in such a run; the test above, new versions of a table outside
def test_a_continuous_run_looks_at_outside_data_again(project: PipelineProject, spark: SparkSession) -> None:
    outside = str(project.directory / "outside")
    spark.range(2).write.format("delta").save(outside)
    project.arrive("1", [{"id": 1}])
    project.write(
        """
        QUICK = {"pipelines.trigger.interval": "200 milliseconds"}

        @dlt.table(spark_conf=QUICK)
        def of_outside():
            return spark.read.format("delta").load("outside")

        @dlt.table(spark_conf=QUICK)
        def of_files():
            return spark.read.schema("id LONG").json("in")
        """
    )
    stop = threading.Event()

    def count(table: str) -> int:
        path = str(project.path(table))
        return DeltaTable(path).to_pyarrow_table().num_rows if DeltaTable.is_deltatable(path) else -1

    def wait(table: str, rows: int) -> None:
        deadline = time.monotonic() + 90
        while count(table) != rows:
            assert time.monotonic() < deadline, table
            assert not running.done(), running.result()
            time.sleep(0.2)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="200 milliseconds", stop=stop)
        try:
            wait("of_outside", 2)
            wait("of_files", 1)
            version = project.version("of_outside")
            spark.range(1).write.format("delta").mode("append").save(outside)
            project.arrive("2", [{"id": 2}])
            wait("of_outside", 3)
            wait("of_files", 2)
        finally:
            stop.set()
        assert running.result(90).errors == ()
    assert project.version("of_outside") == version + 1, "each version of the outside table is read once"
