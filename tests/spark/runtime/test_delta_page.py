"""docs/how-to/delta.md: its pipeline runs as it is printed, and the past is read in all of its ways."""

from __future__ import annotations

import datetime as dt

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.runtime.commands.query import run_sql


@pytest.mark.slow
def test_the_page_runs(project: PipelineProject, spark: SparkSession) -> None:
    (python,) = [block.text for block in blocks(ROOT / "docs/how-to/delta.md") if block.kind == "python"]
    (project.directory / "pipeline.py").write_text(python)
    lake = project.directory / "lake"
    orders = f"delta.`{lake / 'orders'}`"
    columns, feed = "(id INT, at TIMESTAMP, amount DOUBLE)", "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    spark.sql(f"CREATE TABLE {orders} {columns} USING delta {feed}")
    for number, time in enumerate(("2026-01-01T08:10:00Z", "2026-01-01T08:20:00Z", "2026-01-02T08:30:00Z"), 1):
        spark.sql(f"INSERT INTO {orders} VALUES ({number}, '{time}', 2.5 * {number})")
    assert project.run().errors == ()
    assert project.rows("orders", "id") == [2, 3]
    assert project.rows("order_changes", "id", "_change_type") == [(number, "insert") for number in (1, 2, 3)]
    days = [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]
    assert project.rows("daily", "day", "sum(amount)") == [(days[0], 5.0), (days[1], 7.5)]
    hours = [dt.datetime(2026, 1, 1, 8, tzinfo=dt.UTC)]
    assert project.rows("hourly", "window_start", "sum(amount)") == [(hours[0], 5.0)]
    assert DeltaTable(project.path("hourly")).metadata().partition_columns == ["window_start"]
    assert DeltaTable(lake / "shared_orders").metadata().partition_columns == ["day"]
    assert sorted(row["id"] for row in read_table(lake / "shared_orders")) == [2, 3]

    # The sections below: what is read of the past, of a version and of a time.
    version, time = project.version("orders"), dt.datetime.now(dt.UTC).isoformat()
    spark.sql(f"INSERT INTO {orders} VALUES (4, '2026-01-02T08:40:00Z', 1)")
    assert project.run().errors == ()
    for past in (f"VERSION AS OF {version}", f"TIMESTAMP AS OF '{time}'"):
        found = run_sql(project.config, f"SELECT id FROM orders {past} ORDER BY id", spark=spark)[1]
        assert found == [(2,), (3,)], past
    project.write(
        f"""
        @dlt.table
        def of_a_version():
            return spark.read.option("versionAsOf", {version}).table("orders")

        @dlt.table
        def of_a_time():
            return spark.read.option("timestampAsOf", "{time}").table("orders")

        @dlt.table
        def of_a_time_in_sql():
            return spark.sql("SELECT id FROM orders TIMESTAMP AS OF '{time}'")
    """,
        "past.py",
    )
    assert project.run(refresh=("of_a_version", "of_a_time", "of_a_time_in_sql")).errors == ()
    for table in ("of_a_version", "of_a_time", "of_a_time_in_sql"):
        assert project.rows(table, "id") == [2, 3], table
