"""Tables of a pipeline whose `path` is in an object store: each kind, their side tables, and what looks at them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyspark.sql import SparkSession
from tests.integration.store_server import StoreServer
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import ConfigError
from penstock.events import EventType, Verdict
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import external_tables
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update
from penstock.runtime.commands.drop import drop_dataset
from penstock.runtime.commands.manual_maintenance import optimize_tables, vacuum_tables
from penstock.runtime.commands.query import run_sql
from penstock.runtime.project.workspace import say_nothing
from penstock.spark.delta.quick_append import append
from penstock.storage.delta.table import open_delta_table
from penstock.storage.stores.settings import store_settings, use_store_settings
from penstock.testing.crash import forget_newest_commits, newest_commit

PIPELINE = """
NO_RETENTION = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}

@dlt.table(path="OTHER_SPELLING/a b/orders/", partition_cols=["kind"])
@dlt.expect_or_quarantine("real", "amount > 0")
def orders():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    hints = "id LONG, amount LONG, kind STRING, at TIMESTAMP"
    return files.option("cloudFiles.schemaHints", hints).load("in")

@dlt.table(path="LAKE/hours")
def hours():
    timed = spark.readStream.table("orders").withWatermark("at", "10 minutes")
    return timed.groupBy(F.window("at", "1 hour")).count().select("window.start", "count")

@ps.table(path="LAKE/by_id", output_mode="update")
def by_id():
    return spark.readStream.table("orders").groupBy("id").agg(F.sum("amount").alias("amount"))

dlt.create_streaming_table("newest", path="LAKE/newest")
dlt.apply_changes(target="newest", source="orders", keys=["id"], sequence_by="at", stored_as_scd_type=1)
"""
TOTAL = """
@dlt.table(path="LAKE/total", table_properties=NO_RETENTION)
def total():
    return spark.read.table("orders").agg(F.sum("amount").alias("amount"))
"""


def rows(place: str, *columns: str) -> list[Any]:
    query = QueryBuilder().register("rows", open_delta_table(place))
    found = pa.table(query.execute("SELECT * FROM rows").read_all()).to_pylist()
    return sorted(tuple(row[name] for name in columns) for row in found)


def order(number: int, amount: int, hour: int, kind: str = "a b", **more: Any) -> dict[str, Any]:
    return {"id": number, "amount": amount, "kind": kind, "at": f"2026-01-01T{hour:02}:30:00Z", **more}


def wrong_accounts(project: PipelineProject) -> list[str]:
    told = [each.details["accounting"] for each in project.events() if each.event_type is EventType.ACCOUNTING]
    assert told
    return [str(each) for each in told if each["verdict"] == Verdict.BROKEN.value]


@pytest.mark.slow
def test_all_kinds_of_tables_are_in_the_store(
    project: PipelineProject, store: StoreServer, spark: SparkSession
) -> None:
    lake = store.bucket("tables")
    project.settings["spark_conf"] = json.dumps(store.settings())
    pipeline = PIPELINE.replace("OTHER_SPELLING", lake.replace("s3a:", "s3:")).replace("LAKE", lake)
    total, placed_orders = f"{lake}/total", f"{lake}/a b/orders"
    project.write(pipeline + TOTAL.replace("LAKE", lake))
    project.arrive("1", [order(1, 10, 1), order(2, 20, 1, "ü:1%"), order(2, 25, 5), order(3, -1, 5)])
    assert project.run().errors == ()
    assert rows(placed_orders, "id", "amount") == [(1, 10), (2, 20), (2, 25)]
    assert rows(f"{lake}/total", "amount") == [(55,)]
    assert not (project.directory / ".penstock/tables").exists()

    checkpoints = [str(path.parent) for path in (project.directory / ".penstock/checkpoints").rglob("commits")]
    forget_newest_commits(dict.fromkeys(checkpoints, -1))  # as after a crash between the table's commit and Spark's
    project.arrive("2", [order(1, 11, 9, note="a new column"), order(4, 40, 9), order(5, 50, 1), order(6, -6, 9)])
    assert project.run().errors == ()
    assert rows(placed_orders, "id", "amount") == [(1, 10), (1, 11), (2, 20), (2, 25), (4, 40), (5, 50)]
    assert [note for *_, note in rows(placed_orders, "id", "amount", "note")].count("a new column") == 1
    assert rows(f"{placed_orders}__quarantine", "id", "amount") == [(3, -1), (6, -6)]
    assert rows(f"{lake}/by_id", "id", "amount") == [(1, 21), (2, 45), (4, 40), (5, 50)]
    assert rows(f"{lake}/newest", "id", "amount") == [(1, 11), (2, 25), (4, 40), (5, 50)]
    assert rows(f"{lake}/total", "amount") == [(156,)]
    assert rows(f"{lake}/hours", "count") == [(1,), (2,)]
    assert len(rows(f"{lake}/hours__late", "_late_seconds")) == 1
    assert wrong_accounts(project) == []
    planned = plan_update(project.config, RefreshSelection(), progress=say_nothing, spark=spark)
    assert planned.plan.refusals == ()

    storage = str(project.directory / ".penstock")
    answer = run_sql(
        project.config,
        "SELECT sum(amount) FROM orders UNION ALL SELECT count(*) FROM shop.orders__quarantine",
        spark=spark,
        elsewhere=lambda: external_tables(storage),
    )
    assert answer[1] == [(156,), (2,)]
    for command, said in (
        (("show", "orders", "--version", "1"), "version 1"),
        (("quarantine", "show", "orders"), "2 rows in quarantine"),
        (("late", "show", "hours"), "1 late row"),
        (("status", "--json"), "shop.by_id"),
        (("checkpoint", "verify"), "4 checkpoints checked"),
    ):
        shown = CliRunner().invoke(app, [*command, str(project.directory)])
        assert shown.exit_code == 0, (command, shown.output)
        assert said in shown.output, (command, shown.output)

    place = {Identifier("shop", "orders"): placed_orders}
    [compacted] = optimize_tables(project.config, place, progress=say_nothing, spark=spark).values()
    assert compacted.files_removed > compacted.files_added > 0
    place, before = {Identifier("shop", "total"): total}, store.keys("tables")
    [vacuumed] = vacuum_tables(project.config, place, progress=say_nothing, spark=spark).values()
    gone = {key for key in set(before) - set(store.keys("tables")) if not key.endswith("/")}
    assert len(gone) == vacuumed.files_deleted == 1
    assert all(key.startswith("total/part-") for key in gone)
    assert rows(placed_orders, "id", "amount") == [(1, 10), (1, 11), (2, 20), (2, 25), (4, 40), (5, 50)]

    project.write(pipeline)
    drop_dataset(project.config, Identifier("shop", "total"), total, progress=say_nothing)
    assert not [key for key in store.keys("tables") if key.startswith("total/") and not key.endswith("/")]


def test_a_batch_that_runs_again_adds_no_row_to_any_table_in_the_store(
    project: PipelineProject, store: StoreServer
) -> None:
    lake = store.bucket("again")
    project.settings["spark_conf"] = json.dumps(store.settings())
    project.write(f"""
        @dlt.table(path="{lake}/orders")
        @dlt.expect_or_quarantine("real", "amount > 0")
        def orders():
            return spark.readStream.schema("id LONG, amount LONG").json("in")

        @ps.table(path="{lake}/by_id", output_mode="update")
        def by_id():
            return spark.readStream.table("orders").groupBy("id").agg(F.sum("amount").alias("amount"))
        """)
    project.arrive("1", [order(1, 10, 1), order(2, 20, 1), order(2, 25, 5), order(3, -1, 5)])
    assert project.run().errors == ()
    checkpoints = [str(path.parent) for path in (project.directory / ".penstock/checkpoints").rglob("commits")]
    forget_newest_commits(dict.fromkeys(checkpoints))  # as after a crash between the table's commit and Spark's
    assert project.run().errors == ()
    assert [newest_commit(each) for each in checkpoints] == [0, 0], "their batches did run again"
    assert rows(f"{lake}/orders", "id", "amount") == [(1, 10), (2, 20), (2, 25)]
    assert rows(f"{lake}/orders__quarantine", "id", "amount") == [(3, -1)]
    assert rows(f"{lake}/by_id", "id", "amount") == [(1, 10), (2, 45)]


def test_a_bucket_that_is_closed_or_missing_is_named(project: PipelineProject, store: StoreServer) -> None:
    lake = store.bucket("shut")
    project.write(f"""
        @dlt.table(path="{lake}/orders")
        def orders():
            return spark.range(3)
        """)
    usual = store_settings()
    with store.refusing() as settings:
        use_store_settings(lambda: settings)
        with pytest.raises(ConfigError) as caught:
            project.run()
    assert (caught.value.condition, caught.value.dataset) == ("OBJECT_STORE_ACCESS_DENIED", "shop.orders")
    use_store_settings(lambda: usual)
    store.delete_bucket("shut")
    with pytest.raises(ConfigError) as caught:
        project.run()
    assert (caught.value.condition, caught.value.dataset) == ("OBJECT_STORE_BUCKET_NOT_FOUND", "shop.orders")
    store.bucket("shut")
    assert project.run().errors == ()
    assert rows(f"{lake}/orders", "id") == [(0,), (1,), (2,)]


def test_another_writer_loses_no_commit_and_takes_none(spark: SparkSession, store: StoreServer) -> None:
    place = f"{store.bucket('shared')}/orders"
    spark.range(1).write.format("delta").save(place)

    def write_without_spark() -> None:
        for batch in range(12):
            append(open_delta_table(place), pa.table({"id": [100 + batch]}), ("another machine", batch))

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(write_without_spark)
        for number in range(1, 5):
            spark.range(number, number + 1).write.format("delta").mode("append").save(place)
        other.result()
    assert open_delta_table(place).version() == 16
    assert rows(place, "id") == [(number,) for number in [*range(5), *range(100, 112)]]
