"""How tables are laid out by fields of structs, and columns with names that Delta stores only by column mapping."""

from __future__ import annotations

import datetime as dt

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.elements import COLUMN_MAPPING

_PIPELINE = """
def orders():
    files = spark.readStream.schema("id LONG, at TIMESTAMP, amount LONG").json("in")
    return files.withWatermark("at", "0 seconds")

@dlt.table(partition_cols=["window.start"])
@dlt.expect_or_quarantine("small", "`sum(amount)` < 100")
def hourly():
    return orders().groupBy(F.window("at", "1 hour")).agg(F.sum("amount"))

@dlt.table(partition_cols=["WINDOW.start"], output_mode="update")
def running():
    return orders().groupBy(F.window("at", "1 hour")).agg(F.sum("amount").alias("amount"))

@dlt.table
def follows():
    return dlt.read_stream("hourly").select("window_start", (F.col("sum(amount)") * 2))

@dlt.table(partition_cols=["place.city"])
def by_city():
    return dlt.read("hourly").select(F.struct(F.lit("Bonn").alias("city")).alias("place"), "window.start")

@dlt.table(cluster_by=["place.city", "start"])
def near():
    return dlt.read("hourly").select(F.struct(F.lit("Bonn").alias("city")).alias("place"), "window.start")

@dlt.table(cluster_by=["id"])
@dlt.expect_or_quarantine("few", "count < 100")
def counts():
    return dlt.read_stream("events").groupBy("id").count()

dlt.create_streaming_table("newest", partition_cols=["key.kind"])

@dlt.view
def events():
    files = spark.readStream.schema("id LONG, at TIMESTAMP, amount LONG").json("in")
    kind = F.when(F.col("amount") < 5, "low").otherwise("high")
    return files.select("id", "at", F.struct(kind.alias("kind")).alias("key"))

dlt.apply_changes("newest", "events", ["id"], "at")
"""


def _orders(hour: int, *amounts: int) -> list[dict[str, object]]:
    return [{"id": n, "at": f"2026-01-01T{hour:02d}:10:00Z", "amount": each} for n, each in enumerate(amounts)]


@pytest.mark.slow
def test_a_field_partitions_and_a_name_with_punctuation_is_stored(
    project: PipelineProject, spark: SparkSession
) -> None:
    project.write(_PIPELINE)
    project.arrive("1", _orders(8, 1, 2))
    project.arrive("2", _orders(9, 50, 60))
    assert project.run().errors == ()
    project.arrive("3", _orders(10, 4))
    project.arrive("4", _orders(11, 9))
    assert project.run().errors == ()

    hours = [dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC) for hour in (8, 9, 10, 11)]
    assert project.rows("hourly", "window_start", "sum(amount)") == [(hours[0], 3), (hours[2], 4)]
    assert project.rows("hourly__quarantine", "sum(amount)") == [110]
    assert project.rows("running", "window_start", "amount") == list(zip(hours, (3, 110, 4, 9), strict=True))
    assert project.rows("follows", "window_start", "(sum(amount) * 2)") == [(hours[0], 6), (hours[2], 8)]
    assert project.rows("by_city", "place_city", "start") == [("Bonn", hours[0]), ("Bonn", hours[2])]
    assert project.rows("newest", "id", "key_kind") == [(0, "high"), (1, "high")]
    for table, column in (("hourly", "window_start"), ("running", "window_start"), ("by_city", "place_city")):
        assert DeltaTable(project.path(table)).metadata().partition_columns == [column]
    for table, columns in (("near", ["place.city", "start"]), ("counts", ["id"])):
        detail = spark.sql(f"DESCRIBE DETAIL delta.`{project.path(table)}`").first()
        assert detail is not None
        assert detail["clusteringColumns"] == columns
    assert project.rows("near", "place") == [{"city": "Bonn"}] * 2
    mapped = {name: DeltaTable(project.path(name)).metadata().configuration.get(COLUMN_MAPPING) for name in _TABLES}
    assert mapped == dict.fromkeys(_TABLES) | {"hourly": "name", "follows": "name"}
    # Delta reads only the files of the hour that a reader asks for by the field.
    hour = "window.start = TIMESTAMP '2026-01-01 08:00:00'"
    plan = spark.sql(f"EXPLAIN FORMATTED SELECT * FROM delta.`{project.path('running')}` WHERE {hour}").first()
    assert plan is not None
    assert "PartitionFilters" in plan[0]
    assert "window_start" in plan[0].partition("PartitionFilters")[2].partition("\n")[0]


_TABLES = ("hourly", "follows", "running", "by_city")


def test_a_table_gets_such_a_column_later(project: PipelineProject) -> None:
    code = """
        @dlt.table
        def totals():
            return spark.range(3).groupBy().agg(F.sum("id"){})

        @dlt.table
        def kept():
            return spark.readStream.schema("id LONG").json("in").select("id"{})

        @dlt.table
        def follows():
            return dlt.read_stream("kept")
        """
    project.write(code.format('.alias("total")', ""))
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    project.write(code.format("", ', (F.col("id") + 1)'))
    project.arrive("2", [{"id": 2}])
    assert [str(error) for error in project.run().errors] == []
    assert project.rows("totals", "sum(id)") == [3]
    assert project.rows("kept", "id", "(id + 1)") == [(1, None), (2, 3)]
    assert project.rows("follows", "id", "(id + 1)") == [(1, None), (2, 3)]
    project.write(code.format('.alias("total")', ""))
    assert [str(error) for error in project.run(full_refresh_all=True).errors] == []
    assert project.rows("totals", "total") == [3]
    assert project.rows("follows", "id") == [1, 2]
