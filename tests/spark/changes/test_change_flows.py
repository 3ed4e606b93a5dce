"""Change flows from the file to the table, end to end; the tables are read without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oracle.tables import assert_table, read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError

# The example of the Databricks documentation.
USERS = [
    (124, "Raul", "Oaxaca", "INSERT", 1),
    (123, "Isabel", "Monterrey", "INSERT", 1),
    (125, "Mercedes", "Tijuana", "INSERT", 2),
    (126, "Lily", "Cancun", "INSERT", 2),
    (123, None, None, "DELETE", 6),
    (125, "Mercedes", "Guadalajara", "UPDATE", 6),
    (125, "Mercedes", "Mexicali", "UPDATE", 5),
    (123, "Isabel", "Chihuahua", "UPDATE", 5),
]
FIELDS = ("userId", "name", "city", "operation", "sequenceNum")
SCHEMA = "userId LONG, name STRING, city STRING, operation STRING, sequenceNum LONG"


def event(*values: Any) -> dict[str, Any]:
    return dict(zip(FIELDS, values, strict=True))


def table(project: PipelineProject, name: str) -> list[tuple[Any, ...]]:
    rows = [tuple(row.values()) for row in read_table(project.path(name))]
    return sorted(rows, key=lambda row: tuple((value is None, value) for value in row))


NAMES = """
    dp.create_streaming_table("names")
    dp.create_auto_cdc_flow(
        target="names", sequence_by=F.struct("sequenceNum", "operation"), stored_as_scd_type=2,
        track_history_except_column_list=["city"], **common,
    )
"""


# Slow: a sequence of two columns, and a history of some columns, are in test_sql_clauses.py.
@pytest.mark.parametrize("names", [pytest.param(NAMES, id="all", marks=pytest.mark.slow), pytest.param("", id="most")])
def test_the_documented_example_in_all_spellings(project: PipelineProject, names: str) -> None:
    project.write(f"""
    @dlt.view
    def users():
        return spark.readStream.schema("{SCHEMA}").json("in")

    common = dict(
        source="users", keys=["userId"], apply_as_deletes=F.expr("operation = 'DELETE'"),
        except_column_list=["operation", "sequenceNum"],
    )
    dlt.create_streaming_table("newest")
    dlt.apply_changes(
        target="newest", sequence_by=F.col("sequenceNum"),
        apply_as_truncates="operation = 'TRUNCATE'", **common,
    )
    ps.create_streaming_table("history")
    ps.create_auto_cdc_flow("history", sequence_by="sequenceNum", stored_as_scd_type="2", name="applied", **common)
    {names}
    """)
    project.arrive("1", [event(*user) for user in USERS[:5]])
    first = project.run()
    assert first.errors == ()
    project.arrive("2", [event(*user) for user in (*USERS[5:], USERS[1])])  # a duplicate, and late events
    second = project.run()
    assert second.errors == ()
    assert table(project, "newest") == [
        (124, "Raul", "Oaxaca"),
        (125, "Mercedes", "Guadalajara"),
        (126, "Lily", "Cancun"),
    ]
    assert table(project, "history") == [
        (123, "Isabel", "Chihuahua", 5, 6),
        (123, "Isabel", "Monterrey", 1, 5),
        (124, "Raul", "Oaxaca", 1, None),
        (125, "Mercedes", "Guadalajara", 6, None),
        (125, "Mercedes", "Mexicali", 5, 6),
        (125, "Mercedes", "Tijuana", 2, 5),
        (126, "Lily", "Cancun", 2, None),
    ]
    if names:
        _check_names(project)
    changed = {}
    for each in project.events(second):
        metrics = each.details.get("flow_progress", {}).get("metrics")
        if metrics:
            changed[each.origin.dataset_name] = (metrics["num_upserted_rows"], metrics["num_deleted_rows"])
    # Chihuahua's end, Tijuana's end, Mexicali and Guadalajara begin; nothing is written for the duplicate.
    assert changed["shop.newest"] == (1, 0)
    definitions = [
        each.details["flow_definition"] for each in project.events(second) if "flow_definition" in each.details
    ]
    assert {each["flow_type"] for each in definitions} == {"view", "change"}

    # A full refresh computes all again, over an empty log. The history takes the truncate for an event without a key.
    project.arrive("3", [event(None, None, None, "TRUNCATE", 7), event(200, "Uma", "Lima", "INSERT", 8)])
    assert project.run(full_refresh=("history", "newest")).errors == ()
    assert (len(table(project, "history")), len(table(project, "history__quarantine"))) == (8, 1)
    assert table(project, "newest") == [(200, "Uma", "Lima")]
    project.arrive("4", [event(201, "Tarde", "Quito", "INSERT", 7), event(124, "Raul", "Cusco", "UPDATE", 9)])
    assert project.run(refresh=("newest",)).errors == ()
    assert table(project, "newest") == [(124, "Raul", "Cusco"), (200, "Uma", "Lima")]


def _check_names(project: PipelineProject) -> None:
    assert_table(
        [
            {
                **row,
                "__START_AT": row["__START_AT"]["sequenceNum"],
                "__END_AT": (row["__END_AT"] or {}).get("sequenceNum"),
            }
            for row in read_table(project.path("names"))
        ],
        [
            {"userId": 123, "name": "Isabel", "city": "Chihuahua", "__START_AT": 1, "__END_AT": 6},
            {"userId": 124, "name": "Raul", "city": "Oaxaca", "__START_AT": 1, "__END_AT": None},
            {"userId": 125, "name": "Mercedes", "city": "Guadalajara", "__START_AT": 2, "__END_AT": None},
            {"userId": 126, "name": "Lily", "city": "Cancun", "__START_AT": 2, "__END_AT": None},
        ],
    )


ORDERS = "id LONG, name STRING, city STRING, op STRING, at LONG"


def order(id_: int | None, name: str | None, city: str | None, at: int | None, op: str = "U") -> dict[str, Any]:
    return {"id": id_, "name": name, "city": city, "op": op, "at": at}


@pytest.mark.slow
def test_several_flows_expectations_and_readers_of_a_target(project: PipelineProject) -> None:
    project.write(f"""
    def read(folder):
        return spark.readStream.schema("{ORDERS}").json(folder)

    @dlt.view
    def east():
        return read("east")

    @dlt.view
    def west():
        return read("west")

    @dlt.view
    def history():
        return spark.read.schema("{ORDERS}").json("history")

    dlt.create_streaming_table("customers", expect_all_or_drop={{"a city": "city <> 'nowhere'"}})
    for source, once in (("east", False), ("west", False), ("history", True)):
        dlt.apply_changes(
            "customers", source, ["id"], "at", flow_name=source, once=once, where="id IS NULL OR id < 100",
            apply_as_deletes="op = 'D'", ignore_null_updates_except_column_list=["city"],
            column_list=["id", "name", "city"],
        )

    @dlt.table
    def changes():
        feed = spark.readStream.option("readChangeFeed", "true").table("customers")
        return feed.select("id", "name", "_change_type")

    @dlt.table
    def added():
        return spark.readStream.option("skipChangeCommits", "true").table("customers").select("id")
    """)
    project.arrive("1", [order(1, "a", "X", 10), order(2, "b", "X", 10), order(9, "z", "nowhere", 1)], folder="east")
    project.arrive("1", [order(1, None, "Y", 20), order(101, "far", "X", 20)], folder="west")
    project.arrive("1", [order(1, "old", "W", 1), order(3, "c", "Z", 1)], folder="history")
    first = project.run()
    assert first.errors == ()
    newest = [(1, "a", "Y"), (2, "b", "X"), (3, "c", "Z")]
    assert table(project, "customers") == newest
    failed = {rule: failed for (_, rule), (_, failed, _) in project.quality(first).items() if failed}
    assert failed == {"a city": 1, "the event meets where": 1}

    # A delete has no city and is not dropped; an older event of the other flow does not bring the row back.
    project.arrive("2", [order(2, None, None, 15, "D"), order(1, None, "V", 5)], folder="west")
    project.arrive("2", [order(2, "late", "X", 12), order(1, "newer", "Q", 30)], folder="east")
    assert project.run().errors == ()
    assert table(project, "customers") == [(1, "newer", "Q"), (3, "c", "Z")]
    kinds = [row["_change_type"] for row in read_table(project.path("changes")) if row["id"] == 2]
    # Whether the older event was seen for a moment depends on which flow came first.
    assert sorted(kind for kind in kinds if not kind.startswith("update")) == ["delete", "insert"]
    assert {row["id"] for row in read_table(project.path("added"))} == {1, 2, 3}

    # Events without a key or a sequence are counted and put aside, whole; the others are applied.
    project.arrive("3", [order(None, "n", "X", 40), order(4, "d", "X", None), order(5, "e", "X", 41)], folder="east")
    project.arrive("3", [order(6, "f", "X", 40), order(None, None, None, 41, "D")], folder="west")
    third = project.run(refresh=("customers",))
    assert third.errors == ()
    assert table(project, "customers") == [(1, "newer", "Q"), (3, "c", "Z"), (5, "e", "X"), (6, "f", "X")]
    aside = [
        (row["_quarantine_flow"], row["name"], row["op"], row["at"], row["_quarantine_rules"])
        for row in read_table(project.path("customers__quarantine"))
    ]
    assert sorted(aside, key=repr) == [
        ("east", "d", "U", None, ["the sequence is not NULL"]),
        ("east", "n", "U", 40, ["the key is not NULL"]),
        ("west", "far", "U", 20, ["the event meets where"]),
        ("west", None, "D", 41, ["the key is not NULL"]),
    ]
    failed = {rule: failed for (_, rule), (_, failed, _) in project.quality(third).items()}
    assert (failed["the key is not NULL"], failed["the sequence is not NULL"]) == (2, 1)

    project.write(f"""
    @dlt.view
    def east():
        return spark.readStream.schema("{ORDERS}").json("east")

    dlt.create_streaming_table("customers")
    dlt.apply_changes("customers", "east", ["id", "city"], "at", column_list=["id", "city"])
    """)
    version = project.version("customers")
    with pytest.raises(StateError) as refused:
        project.run()
    assert (refused.value.condition, refused.value.facts["what"]) == ("CHANGE_CAPTURE_CHANGED", "the keys")
    assert project.version("customers") == version
