"""Expectations as counted and applied by a run, against rows counted in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.session.query_settings import query_settings

Row = dict[str, Any]
_ROWS: list[Row] = [
    {"id": n, "amount": None if n % 7 == 0 else n - 20, "name": [None, "", "Ann", "Zoë"][n % 4]} for n in range(60)
]

PIPELINE = """
def source():
    return spark.readStream.schema("id LONG, amount LONG, name STRING").json("in")

@dlt.table
@dlt.expect("warn, kept; `odd` 'name' \\"✓\\"", "amount > 0")
@dlt.expect("a column", F.col("amount") < 30)
@dlt.expect("null is no value", "amount = amount")
@dlt.expect("always null", "CAST(NULL AS BOOLEAN)")
@dlt.expect("a number as truth", "id % 3")
@dlt.expect_all({"named": "name IS NOT NULL AND name <> ''", "unicode": "name = 'Zoë'"})
@dlt.expect_or_drop("has an amount", "amount IS NOT NULL")
@dlt.expect_all_or_drop({"even": F.col("id") % 2 == 0, "not negative": "NOT amount < 0"})
@dlt.expect_all_or_fail({"id is small": "id < 1000", "id again": F.col("id").isNotNull()})
def eleven():
    return source()

@dlt.view
@dlt.expect_or_drop("positive", "amount > 0")
@dlt.expect("named", "name IS NOT NULL")
def positive():
    return dlt.read_stream("raw")

@dlt.view
@dlt.expect("below thirty", "amount < 30")
def nested():
    return dlt.read_stream("positive")

@dlt.table
def raw():
    return source()

@dlt.table
@dlt.expect_or_drop("not ten", "id <> 30")
def twice():
    return dlt.read_stream("positive").select("id").union(dlt.read_stream("nested").select("id"))

@dlt.view
@dlt.expect("positive", "amount > 0")
@dlt.expect_or_drop("named", "name IS NOT NULL")
def batch_view():
    return dlt.read("raw")

@dlt.table
@dlt.expect("not ten", "id <> 30")
def refreshed():
    return dlt.read("batch_view")

@dlt.table
def empty():
    return dlt.read("batch_view").where("false")
"""


def test_rows_are_counted_kept_and_dropped(project: PipelineProject) -> None:
    project.write(PIPELINE)
    project.arrive("1", _ROWS[:25])
    project.arrive("2", _ROWS[25:])
    outcome = project.run()
    assert outcome.errors == ()
    quality = project.quality(outcome)

    def check(dataset: str, name: str, rows: list[Row], holds: Callable[[Row], bool], action: str) -> None:
        passed = sum(1 for row in rows if holds(row))
        assert quality.pop((dataset, name)) == (passed, len(rows) - passed, action), (dataset, name)

    def amount(row: Row) -> int:
        return -1 if row["amount"] is None else int(row["amount"])

    check("eleven", "warn, kept; `odd` 'name' \"✓\"", _ROWS, lambda row: amount(row) > 0, "warn")
    check("eleven", "a column", _ROWS, lambda row: row["amount"] is not None and row["amount"] < 30, "warn")
    check("eleven", "null is no value", _ROWS, lambda row: row["amount"] is not None, "warn")
    check("eleven", "always null", _ROWS, lambda row: False, "warn")
    check("eleven", "a number as truth", _ROWS, lambda row: row["id"] % 3 != 0, "warn")
    check("eleven", "named", _ROWS, lambda row: bool(row["name"]), "warn")
    check("eleven", "unicode", _ROWS, lambda row: row["name"] == "Zoë", "warn")
    check("eleven", "has an amount", _ROWS, lambda row: row["amount"] is not None, "drop")
    check("eleven", "even", _ROWS, lambda row: row["id"] % 2 == 0, "drop")
    check("eleven", "not negative", _ROWS, lambda row: amount(row) >= 0, "drop")
    check("eleven", "id is small", _ROWS, lambda row: True, "fail")
    check("eleven", "id again", _ROWS, lambda row: True, "fail")
    kept = [row["id"] for row in _ROWS if amount(row) >= 0 and row["id"] % 2 == 0]
    assert project.rows("eleven", "id") == kept

    positive = [row for row in _ROWS if amount(row) > 0]
    check("positive", "positive", _ROWS * 2, lambda row: amount(row) > 0, "drop")
    # `batch_view` is read by two tables, `positive` twice by one: each reading is counted.
    check("positive", "named", _ROWS * 2, lambda row: row["name"] is not None, "warn")
    check("nested", "below thirty", positive, lambda row: amount(row) < 30, "warn")
    check("twice", "not ten", positive * 2, lambda row: row["id"] != 30, "drop")
    assert project.rows("twice", "id") == sorted([row["id"] for row in positive if row["id"] != 30] * 2)

    named = [row for row in _ROWS if row["name"] is not None]
    passed, _, action = quality.pop(("batch_view", "positive"))
    assert (passed % sum(1 for row in _ROWS if amount(row) > 0), action) == (0, "warn")
    quality.pop(("batch_view", "named"))
    check("refreshed", "not ten", named, lambda row: row["id"] != 30, "warn")
    assert project.rows("refreshed", "id") == [row["id"] for row in named]
    assert quality == {}
    written = project.written(outcome)
    assert (written["eleven"], written["refreshed"], written["empty"]) == (len(kept), len(named), 0)
    assert written["twice"] == len(project.rows("twice", "id"))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_rows_are_counted_once_whatever_the_query_does(project: PipelineProject, adaptive: str) -> None:
    """Spark may execute a part of a query twice, e.g. to find the bounds of a sort."""
    project.arrive("1", _ROWS)
    project.write(
        """
        @dlt.table
        @dlt.expect("positive", "amount > 0")
        def raw():
            return spark.readStream.schema("id LONG, amount LONG, name STRING").json("in")

        @dlt.view
        @dlt.expect("positive", "amount > 0")
        def checked():
            return dlt.read("raw")

        @dlt.table
        def sorted_rows():
            return dlt.read("checked").orderBy("id")

        @dlt.table
        def spread_rows():
            return dlt.read("checked").repartitionByRange(2, "id").select("id")

        @dlt.table
        @dlt.expect("small", "count < 30")
        def aggregated():
            return dlt.read("raw").groupBy("name").count().orderBy("name")

        @dlt.table
        def ranked():
            return spark.sql("SELECT *, row_number() OVER (PARTITION BY name ORDER BY id) AS place FROM raw")
        """
    )
    with query_settings(project.spark, {"spark.sql.adaptive.enabled": adaptive}):
        outcome = project.run()
    assert outcome.errors == ()
    assert project.written(outcome) == {"raw": 60, "sorted_rows": 60, "spread_rows": 60, "aggregated": 4, "ranked": 60}
    quality = project.quality(outcome)
    assert quality["checked", "positive"] == (33 * 2, 27 * 2, "warn"), "counted once by each of two tables"
    assert quality["aggregated", "small"] == (4, 0, "warn")
