"""Expectations on columns that a query renamed or dropped: counted, dropped, quarantined and failed in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import ConfigError
from penstock.runtime.commands.replay import replay_quarantine

Row = dict[str, Any]
_ROWS: list[Row] = [
    {"id": n, "customer": [None, "Ann", "Zoë"][n % 3], "amount": n - 5, "at": f"2026-01-01T00:{n:02}:00"}
    for n in range(20)
]
_NAMED = [row["id"] for row in _ROWS if row["customer"]]
_POSITIVE = [row["id"] for row in _ROWS if row["amount"] > 0]

PIPELINE = """
@dlt.table
def raw():
    return spark.readStream.schema("id LONG, customer STRING, amount LONG, at TIMESTAMP").json("in")

@dlt.table
@dlt.expect_or_drop("has customer", "customer IS NOT NULL")
@dlt.expect("positive", "amount > 0")
@dlt.expect("buyer", "buyer <> 'Ann'")
@dlt.expect_or_fail("possible", F.col("customer").isNull() | (F.col("id") >= 0))
def renamed():
    return dlt.read_stream("raw").withColumnRenamed("customer", "buyer")

@dlt.table
@dlt.expect_or_drop("has customer", "customer IS NOT NULL")
def refreshed():
    return dlt.read("raw").drop("customer")

@dlt.table
@dlt.expect_or_quarantine("has customer", "customer IS NOT NULL")
@dlt.expect_or_drop("positive", "amount > 0")
def quarantined():
    return dlt.read_stream("raw").select("id")

dlt.create_streaming_table("shared", expect_all_or_drop={"has customer": "customer IS NOT NULL"})

@dlt.append_flow(target="shared")
def into_shared():
    return dlt.read_stream("raw").select("id", F.col("customer").alias("buyer"))

@dlt.view
@dlt.expect_or_drop("has customer", "customer IS NOT NULL")
def named():
    return dlt.read_stream("raw").drop("customer")

@dlt.table
@dlt.expect("positive", "amount > 0")
def of_view():
    return dlt.read_stream("named").select("id")

@dlt.view
@dlt.expect_or_quarantine("has customer", "customer IS NOT NULL")
def set_aside():
    return dlt.read_stream("raw").select("id", "amount")

@dlt.table
def of_quarantining_view():
    return dlt.read_stream("set_aside").select("id")

@dlt.table
@dlt.expect_or_drop("has customer", "customer IS NOT NULL")
def latest():
    return dlt.read_stream("raw").withWatermark("at", "10 minutes").drop("customer").dropDuplicates(["id", "at"])
"""
SQL = """
CREATE STREAMING TABLE in_sql (CONSTRAINT named EXPECT (customer IS NOT NULL) ON VIOLATION DROP ROW)
AS SELECT id, customer AS buyer FROM STREAM(raw);
"""


@pytest.mark.slow  # such rules are resolved in test_missing_references.py, and counted in test_expectations.py
def test_rules_on_dropped_columns_are_checked_and_counted(project: PipelineProject) -> None:
    project.write(PIPELINE)
    (project.directory / "more.sql").write_text(SQL, encoding="utf-8")
    project.arrive("1", _ROWS[:12])
    project.arrive("2", _ROWS[12:])
    outcome = project.run()
    assert outcome.errors == ()
    quality = project.quality(outcome)

    def check(dataset: str, name: str, holds: Callable[[Row], bool], action: str, rows: list[Row] = _ROWS) -> None:
        passed = sum(1 for row in rows if holds(row))
        assert quality.pop((dataset, name)) == (passed, len(rows) - passed, action), (dataset, name)

    named = [row for row in _ROWS if row["customer"]]
    for table in ("renamed", "refreshed", "shared", "latest"):
        check(table, "has customer", lambda row: row["customer"], "drop")
        assert project.rows(table, "id") == _NAMED, table
    check("renamed", "positive", lambda row: row["amount"] > 0, "warn")
    check("renamed", "buyer", lambda row: row["customer"] == "Zoë", "warn")
    check("renamed", "possible", lambda row: True, "fail")
    check("in_sql", "named", lambda row: row["customer"], "drop")
    assert project.rows("in_sql", "id") == _NAMED
    check("named", "has customer", lambda row: row["customer"], "drop")
    check("of_view", "positive", lambda row: row["amount"] > 0, "warn", named)
    assert project.rows("of_view", "id") == _NAMED
    check("quarantined", "has customer", lambda row: row["customer"], "quarantine")
    check("quarantined", "positive", lambda row: row["amount"] > 0, "drop")
    both = sorted(set(_NAMED) & set(_POSITIVE))
    assert project.rows("quarantined", "id") == both
    aside = dict(project.rows("quarantined__quarantine", "id", "_quarantine_rules"))
    assert aside == {
        row["id"]: ["has customer"] + (["positive"] if row["amount"] <= 0 else [])
        for row in _ROWS
        if not row["customer"]
    }
    check("set_aside", "has customer", lambda row: row["customer"], "quarantine")
    assert project.rows("of_quarantining_view", "id") == _NAMED
    assert project.rows("set_aside__quarantine", "id") == [row["id"] for row in _ROWS if not row["customer"]]
    assert quality == {}
    written = project.written(outcome)
    assert (written["renamed"], written["refreshed"], written["quarantined"]) == (len(named), len(named), len(both))
    problems = [each for each in project.events(outcome) if each.level.value in {"WARN", "ERROR"}]
    assert problems == []
    with pytest.raises(ConfigError, match="customer") as refused:
        replay_quarantine(project.config, "quarantined", progress=lambda _: None, spark=project.spark)
    assert refused.value.condition == "QUARANTINE_NOT_REPLAYABLE"


def test_row_that_breaks_a_failing_rule_on_a_dropped_column_is_told(project: PipelineProject) -> None:
    project.arrive("1", _ROWS)
    project.write(
        """
        @dlt.table
        @dlt.expect_or_fail("has customer", "customer IS NOT NULL")
        def strict():
            return spark.readStream.schema("id LONG, customer STRING").json("in").select("id")
        """
    )
    [error] = project.run().errors
    assert error.condition == "EXPECTATION_FAILED"
    assert error.facts["row"] == '{"id":0}'
    assert "1.json" in error.facts["origin"]


# Slow: those two are observed as `expect_or_drop` is.
@pytest.mark.parametrize(
    "action",
    [
        *(pytest.param(action, marks=pytest.mark.slow) for action in ("expect", "expect_or_fail")),
        *("expect_or_drop", "expect_or_quarantine"),
    ],
)
def test_only_the_rule_on_a_column_that_is_nowhere_is_refused(project: PipelineProject, action: str) -> None:
    project.write(
        f"""
        @dlt.table
        @dlt.{action}("below", "customer IS NOT NULL")
        @dlt.{action}("nowhere", "custumer IS NOT NULL")
        def cleaned():
            return spark.readStream.schema("id LONG, customer STRING").json("in").withColumnRenamed("customer", "buyer")
        """
    )
    project.arrive("1", _ROWS)
    [error] = project.validate().errors
    assert error.condition == "EXPECTATION_NOT_RESOLVED"
    assert error.facts["expectation"] == "nowhere"
