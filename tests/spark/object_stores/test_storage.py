"""A pipeline whose `storage` is in an object store: nothing of it is on the disk, and whatever looks finds it there."""

from __future__ import annotations

import json

import httpx
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyspark.sql import SparkSession
from tests.integration.store_server import StoreServer
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.dashboard.serving.background import start_in_background
from penstock.errors import StateError
from penstock.events import EventType, Verdict, read_events
from penstock.graph.identifier import Identifier
from penstock.runtime.commands.manual_maintenance import optimize_tables, vacuum_tables
from penstock.runtime.commands.query import run_sql
from penstock.runtime.project.workspace import say_nothing
from penstock.storage import LockOwner, StorageLock
from penstock.storage.delta.table import open_delta_table
from penstock.testing.crash import forget_newest_commits, newest_commit

PIPELINE = """
@dlt.table
@dlt.expect_or_quarantine("real", "amount > 0")
def orders():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    hints = "id LONG, amount LONG, at TIMESTAMP"
    return files.option("cloudFiles.schemaHints", hints).load("in")

@dlt.table
def hours():
    timed = spark.readStream.table("orders").withWatermark("at", "10 minutes")
    return timed.groupBy(F.window("at", "1 hour")).count().select("window.start", "count")

@dlt.table
def total():
    return spark.read.table("orders").agg(F.sum("amount").alias("amount"))

dlt.create_streaming_table("newest")
dlt.apply_changes(target="newest", source="orders", keys=["id"], sequence_by="at", stored_as_scd_type=2)
"""


def order(number: int, amount: int, hour: int) -> dict[str, object]:
    return {"id": number, "amount": amount, "at": f"2026-01-01T{hour:02}:30:00Z"}


def _look_with_the_dashboard(storage: str) -> None:
    dashboard = start_in_background(storage, port=0)
    try:
        with httpx.Client(base_url=dashboard.url, timeout=60) as client:
            for path in ("/", "/datasets/shop.orders", "/flows/shop.orders", "/events", "/series?dataset=shop.orders"):
                assert "orders" in client.get(path).text, path
            assert "2026-01-01" in client.get("/stored/table/shop.orders").text
            assert "real" in client.get("/stored/quarantine/shop.orders").text
            assert "Nothing wrong" in client.get("/checks/findings").text
            with client.stream("GET", "/live") as told:
                assert any(line.startswith("data: ") for line in told.iter_lines())
    finally:
        dashboard.stop()


def test_a_storage_goes_on_after_a_crash_and_has_one_run_at_a_time(
    project: PipelineProject, store: StoreServer
) -> None:
    storage = store.bucket("crashed") + "/storage"
    project.settings |= {"spark_conf": json.dumps(store.settings()), "storage": storage}
    project.write("""
        @dlt.table
        def orders():
            files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
            return files.option("cloudFiles.schemaHints", "id LONG").load("in")
    """)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    assert project.run().errors == ()
    checkpoint = f"{storage}/checkpoints/shop/orders/orders/0"
    forget_newest_commits({checkpoint: None})  # as after a crash between the table's commit and Spark's
    assert newest_commit(checkpoint) is None
    project.arrive("2", [{"id": 3}])
    with StorageLock(storage, LockOwner.current()), pytest.raises(StateError, match="STORAGE_LOCKED"):
        project.run()
    assert project.run().errors == ()
    assert newest_commit(checkpoint) == 1
    query = QueryBuilder().register("rows", open_delta_table(f"{storage}/tables/shop/orders"))
    rows = pa.table(query.execute("SELECT id FROM rows").read_all()).to_pylist()
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
    assert not (project.directory / ".penstock").exists()


@pytest.mark.slow
def test_all_of_a_pipeline_is_in_the_store(project: PipelineProject, store: StoreServer, spark: SparkSession) -> None:
    storage = store.bucket("lake") + "/storage/shop"
    project.settings |= {"spark_conf": json.dumps(store.settings()), "storage": storage}
    project.settings["alerts"] = json.dumps({"tables": {"*": {"freshness": "1 day"}}})
    project.write(PIPELINE)
    project.arrive("1", [order(1, 10, 1), order(2, 20, 1), order(2, 25, 5), order(3, -1, 5)])
    assert project.run().errors == ()
    project.arrive("2", [order(1, 7, 9), order(4, 0, 9)])
    assert project.run().errors == ()

    def rows(query: str) -> list[tuple[object, ...]]:
        return sorted(run_sql(project.config, query, spark=spark)[1])

    assert rows("SELECT id, amount FROM orders") == [(1, 7), (1, 10), (2, 20), (2, 25)]
    assert rows("SELECT amount FROM total") == [(62,)]
    assert rows("SELECT id, amount FROM newest WHERE __END_AT IS NULL") == [(1, 7), (2, 25)]
    assert rows("SELECT count FROM hours") == [(1,), (2,)]
    events = list(read_events(storage))
    told = [each.details["accounting"] for each in events if each.event_type is EventType.ACCOUNTING]
    assert told
    assert not [each for each in told if each["verdict"] == Verdict.BROKEN.value]
    assert not (project.directory / ".penstock").exists()

    place = {Identifier("shop", "orders"): f"{storage}/tables/shop/orders"}
    [compacted] = optimize_tables(project.config, place, progress=say_nothing, spark=spark).values()
    assert compacted.files_removed > compacted.files_added > 0
    vacuum_tables(project.config, place, progress=say_nothing, spark=spark)
    for words in (
        ["status"],
        ["top", "--once"],
        ["alerts", "check"],
        ["metrics", "show"],
        ["events"],
        ["graph"],
        ["show", "orders"],
        ["checkpoint", "verify"],
        ["compact"],
        ["audit"],
    ):
        outcome = CliRunner().invoke(app, [*words, str(project.directory)])
        assert outcome.exit_code == 0, f"{words}: {outcome.output}"
    _look_with_the_dashboard(storage)
    with StorageLock(storage, LockOwner.current()), pytest.raises(StateError, match="STORAGE_LOCKED"):
        project.run()
    assert project.run(full_refresh_all=True).errors == ()
    assert rows("SELECT id, amount FROM orders") == [(1, 7), (1, 10), (2, 20), (2, 25)]
