"""Delta tables outside of the pipeline as sources: what each option of a read does, and what is refused."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.runtime import UpdateOutcome

_NOW = dt.datetime.now(dt.UTC)
_READ = """
def read(**options):
    return spark.readStream.format("delta").options(**options)
"""
_ONE_RUN = """
@dlt.table
def without_changes():
    return read(startingVersion=2, skipChangeCommits="true").load("orders")

@dlt.table
def with_rewrites():
    return read(startingTimestamp="{time}", ignoreChanges="true").load("orders")

@dlt.table
def changes():
    return read(readChangeData="true", startingVersion=3).load("orders")

@dlt.table
def file_by_file():
    return read(maxFilesPerTrigger=1).load("orders")

@dlt.table
def byte_by_byte():
    return read(path="orders", maxBytesPerTrigger="1b", excludeRegex="kind=b").option(
        "fs.file.impl.disable.cache", "false"
    ).load()

@dlt.table
def added_rows_only():
    return read(startingVersion=0).load("orders")

@dlt.table
def as_it_was():
    return spark.read.format("delta").option("versionAsOf", 1).load("orders")
"""
_TWO_RUNS = """
@dlt.table
def whole():
    return read().load("orders")

@dlt.table
def by_name():
    return spark.readStream.table("elsewhere.orders")

@dlt.table
def from_now():
    return read(STARTINGVERSION="latest").load("orders")

@dlt.table
def changes():
    return read(readChangeFeed="true", startingVersion=0).load("orders")

@dlt.table
def without_deletes():
    return read(ignoreDeletes="true", startingVersion=0).load("orders")

@dlt.table
def with_rewrites():
    return read(ignoreChanges="true", startingVersion=0).load("orders")
"""


def _orders(spark: SparkSession, path: Path) -> None:
    """Versions 1 to 3 add rows, a day each; 4 removes a partition of version 3, 5 changes a row."""
    columns = "id BIGINT, kind STRING"
    table = f"delta.`{path}`"
    feed = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'false'"
    spark.sql(f"CREATE TABLE {table} ({columns}) USING delta PARTITIONED BY (kind) TBLPROPERTIES ({feed})")
    for values in ("(1, 'a'), (2, 'b')", "(3, 'a'), (4, 'b')", "(5, 'c')"):
        spark.sql(f"INSERT INTO {table} VALUES {values}")
    for version in range(4):
        moment = (_NOW - dt.timedelta(days=4 - version)).timestamp()
        os.utime(path / f"_delta_log/{version:020d}.json", (moment, moment))


def _change(spark: SparkSession, path: Path) -> None:
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (6, 'a')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE kind = 'c'")
    spark.sql(f"UPDATE delta.`{path}` SET id = 60 WHERE id = 6")


def test_each_option_of_a_delta_source(project: PipelineProject, spark: SparkSession) -> None:
    _orders(spark, project.directory / "orders")
    _change(spark, project.directory / "orders")
    project.write(_READ + _ONE_RUN.format(time=(_NOW - dt.timedelta(days=2.5)).isoformat()))
    update = project.run()
    refused = [(str(error.dataset), error.condition) for error in update.errors]
    assert refused == [("shop.added_rows_only", "SOURCE_ROWS_CHANGED")]
    assert project.rows("without_changes", "id") == [3, 4, 5, 6]
    assert project.rows("with_rewrites", "id") == [3, 4, 5, 6, 60]
    assert project.rows("changes", "_commit_version", "_change_type", "id") == [
        (3, "insert", 5),
        (4, "insert", 6),
        (5, "delete", 5),
        (6, "update_postimage", 60),
        (6, "update_preimage", 6),
    ]
    assert project.rows("file_by_file", "id") == [1, 2, 3, 4, 60]
    assert project.rows("byte_by_byte", "id") == [1, 3, 60]
    assert project.rows("as_it_was", "id") == [1, 2]
    batches = _batches(project, update)
    assert (batches["with_rewrites"], batches["file_by_file"], batches["byte_by_byte"]) == (1, 5, 3)


@pytest.mark.slow  # what is different from the test above: the second start of a flow
def test_a_source_changes_between_two_runs(project: PipelineProject, spark: SparkSession) -> None:
    orders = project.directory / "orders"
    _orders(spark, orders)
    spark.sql("CREATE SCHEMA IF NOT EXISTS elsewhere")
    spark.sql(f"CREATE TABLE elsewhere.orders USING delta LOCATION '{orders}'")
    try:
        project.write(_READ + _TWO_RUNS)
        assert project.run().errors == ()
        assert project.rows("whole", "id") == project.rows("by_name", "id") == [1, 2, 3, 4, 5]
        assert project.rows("from_now", "id") == []
        assert project.rows("changes", "id", "_change_type") == [(n, "insert") for n in range(1, 6)]

        _change(spark, orders)
        second = project.run()
    finally:
        spark.sql("DROP SCHEMA elsewhere CASCADE")
    refused = {str(error.dataset).removeprefix("shop."): error.condition for error in second.errors}
    assert refused == dict.fromkeys(("whole", "by_name", "without_deletes"), "SOURCE_ROWS_CHANGED")
    assert project.rows("from_now", "id") == [], "without a batch the next start is the first again"
    assert Counter(project.rows("changes", "id", "_change_type"))[(60, "update_postimage")] == 1
    assert (5, "delete") in project.rows("changes", "id", "_change_type")
    assert project.rows("with_rewrites", "id") == [1, 2, 3, 4, 5, 6, 60]


def _batches(project: PipelineProject, update: UpdateOutcome) -> Counter[str]:
    """How many batches with rows each table got."""
    told = Counter[str]()
    for event in project.events(update):
        metrics = event.details.get("flow_progress", {}).get("metrics")
        if metrics and metrics["num_output_rows"]:
            told[str(event.origin.dataset_name).removeprefix("shop.")] += 1
    return told


_TRACKED = """
@dlt.table
def tracked():
    read = spark.readStream.format("delta").option("schemaTrackingLocation", "anywhere")
    return read.{acknowledged}load("people")

@dlt.table
def untracked():
    return spark.readStream.format("delta").load("people")
"""


def test_columns_that_are_renamed_and_dropped_need_a_schema_log(project: PipelineProject, spark: SparkSession) -> None:
    people = f"delta.`{project.directory / 'people'}`"
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE {people} (id BIGINT, name STRING, age INT) USING delta {mapped}")
    spark.sql(f"INSERT INTO {people} VALUES (1, 'Ann', 30)")
    project.write(_TRACKED.format(acknowledged=""))
    assert project.run().errors == ()
    spark.sql(f"INSERT INTO {people} VALUES (2, 'Ben', 40)")
    spark.sql(f"ALTER TABLE {people} DROP COLUMN age")
    spark.sql(f"INSERT INTO {people} VALUES (3, 'Cid')")
    refused = {error.dataset: error for error in project.run().errors}
    assert {name: error.condition for name, error in refused.items()} == {
        "shop.tracked": "SOURCE_COLUMNS_NOT_ACCEPTED",
        "shop.untracked": "SOURCE_COLUMNS_CHANGED",
    }
    assert "DROP COLUMN" in refused["shop.tracked"].message
    assert project.rows("tracked", "id", "age") == [(1, 30), (2, 40)]
    project.write(_TRACKED.format(acknowledged='option("allowSourceColumnDrop", "always").'))
    again = project.run()
    assert [error.dataset for error in again.errors] == ["shop.untracked"]
    assert project.rows("tracked", "id", "age") == [(1, 30), (2, 40), (3, None)]


@pytest.mark.parametrize(
    ("options", "load", "condition", "told"),
    [
        ({"maxFilesPerTriger": "1"}, "load('orders')", "SOURCE_OPTION_UNKNOWN", "maxFilesPerTrigger"),
        # Slow: `skipChangeCommits` below is of a table by name too.
        pytest.param(
            {"maxFilesPerTriger": "1"},
            "table('own')",
            "SOURCE_OPTION_UNKNOWN",
            "maxFilesPerTrigger",
            marks=pytest.mark.slow,
        ),
        ({"maxFilesPerTrigger": "few"}, "load('orders')", "SOURCE_OPTION_INVALID", "a whole number"),
        ({"skipChangeCommits": "yes"}, "table('own')", "SOURCE_OPTION_INVALID", "true or false"),
        ({"endingVersion": "3"}, "load('orders')", "SOURCE_OPTION_REFUSED", "no end"),
        ({"versionAsOf": "3"}, "load('orders')", "SOURCE_OPTION_REFUSED", "startingVersion"),
        ({"withEventTimeOrder": "true"}, "load('orders')", "SOURCE_OPTION_REFUSED", "startingVersion"),
        ({"ignoreFileDeletion": "true"}, "load('orders')", "SOURCE_OPTION_REFUSED", "skipChangeCommits"),
    ],
)
def test_an_option_that_delta_would_pass_over(
    project: PipelineProject, spark: SparkSession, options: dict[str, str], load: str, condition: str, told: str
) -> None:
    spark.range(1).write.format("delta").save(str(project.directory / "orders"))
    project.write(f"""
        @dlt.table
        def own():
            return spark.readStream.format("delta").load("orders")

        @dlt.table
        def read():
            return spark.readStream.format("delta").options(**{options!r}).{load}
        """)
    [error] = project.validate().errors
    assert (error.condition, error.dataset) == (condition, "shop.read")
    assert told in f"{error.message} {error.fix}"
    assert error.location is not None
