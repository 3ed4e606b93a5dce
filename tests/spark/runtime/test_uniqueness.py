"""Rows that repeat a key, against rows sorted out in Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

PIPELINE = """
def source():
    return spark.readStream.schema("id LONG, line LONG, amount LONG, tags MAP<STRING, LONG>").json("in")

@dlt.table
@dlt.expect_or_quarantine("positive", "amount > 0")
@dlt.expect_unique(["id", "line"], action="quarantine")
@dlt.expect_unique("amount", name="amounts differ")
def orders():
    return source()

@dlt.append_flow(target="orders")
def also():
    return spark.readStream.schema("id LONG, line LONG, amount LONG").json("also")

@dlt.table
@dlt.expect_unique("id", action="drop")
def ids():
    return source()

@dlt.table
@dlt.expect_unique("line", action="drop", name="one of a line")
def lines():
    return dlt.read("orders").select("line", "id")

@dlt.table
@dlt.expect_unique("id", action="fail")
def strict():
    return source().where("id = 50")
"""


def test_a_key_is_kept_once(project: PipelineProject) -> None:
    project.write(PIPELINE)
    first: list[dict[str, Any]] = [
        {"id": 1, "line": 1, "amount": -5, "tags": {"a": 1}},
        {"id": 1, "line": 1, "amount": 7, "tags": {"a": 2}},
        {"id": 1, "line": 1, "amount": 8, "tags": {"a": 3}},
        {"id": 1, "line": 2, "amount": 9},
        {"id": None, "line": 1, "amount": 10},
        {"id": None, "line": 1, "amount": 11},
        {"id": 2, "line": 1, "amount": 9},
    ]
    project.arrive("1", first)
    project.arrive("0", [], folder="also")
    assert project.run().errors == ()
    kept = project.rows("orders", "id", "line")
    assert kept == [(1, 1), (1, 2), (2, 1), (None, 1), (None, 1)]
    assert [row for row in read_table(project.path("orders")) if row["amount"] == -5] == []
    aside = read_table(project.path("orders__quarantine"))
    rules = {row["amount"]: row["_quarantine_rules"] for row in aside}
    assert rules.pop(-5) == ["positive", "unique id, line"]
    assert list(rules.values()) == [["unique id, line"]]
    assert len(project.rows("ids", "id")) == 4
    assert project.rows("lines", "line") == [1, 2]

    second = [
        {"id": 1, "line": 1, "amount": 20},
        {"id": 3, "line": 1, "amount": 9},
        {"id": 50, "line": 1, "amount": 50},
        {"id": 50, "line": 2, "amount": 51},
    ]
    project.arrive("2", second)
    project.arrive("3", [{"id": 2, "line": 1, "amount": 1}, {"id": 60, "line": 1, "amount": 60}], folder="also")
    outcome = project.run(refresh=("orders", "ids", "strict"))
    [error] = outcome.errors
    assert (error.condition, error.dataset) == ("EXPECTATION_FAILED", "shop.strict")
    assert error.facts["expectations"] == "'unique id'"
    assert '"id":50' in error.facts["row"]
    assert error.facts["origin"].endswith("/in/2.json")
    assert project.rows("strict", "id") == []

    counts = Counter(project.rows("orders", "id", "line"))
    assert {key for key, count in counts.items() if count > 1} == {(None, 1)}
    assert {(3, 1), (50, 1), (50, 2), (60, 1)} <= set(counts)
    added = sorted((row["id"], row["amount"]) for row in read_table(project.path("orders__quarantine")))
    assert [row for row in added if row in {(1, 20), (2, 1)}] == [(1, 20), (2, 1)]
    assert len(added) == 4
    assert project.quality(outcome)["orders", "unique id, line"] == (4, 2, "quarantine")
    assert project.quality(outcome)["orders", "amounts differ"] == (5, 1, "warn")
    assert project.quality(outcome)["ids", "unique id"] == (2, 2, "drop")
    assert [key for key in project.rows("ids", "id") if key is not None] == [1, 2, 3, 50]
