"""Each clause of AUTO CDC in SQL, executed: batches of events in disorder, and the model in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from tests.oracle.tables import assert_table, read_table
from tests.spark.changes.model import Event, Settings, histories, newest_rows
from tests.spark.pipeline_project import PipelineProject

PIPELINE = """
CREATE TEMPORARY VIEW changes AS SELECT id, name, city, op, day, no, changed
  FROM STREAM read_files('in', format => 'json', maxFilesPerTrigger => 1,
    schema => 'id LONG, name STRING, city STRING, op STRING, day INT, no INT, changed ARRAY<STRING>');
CREATE TEMPORARY VIEW exported AS SELECT *, CAST(NULL AS ARRAY<STRING>) AS changed
  FROM VALUES (1L, 'e', 'E', 'U', 0, 1), (99L, 'e', 'E', 'U', 9, 9) AS t(id, name, city, op, day, no);

CREATE OR REFRESH STREAMING TABLE newest;
CREATE FLOW start AS AUTO CDC ONCE INTO newest FROM exported KEYS (id)
  SEQUENCE BY STRUCT(day, no) COLUMNS id, name, city COLUMNS TO UPDATE changed;
CREATE FLOW newest_flow AS AUTO CDC INTO newest FROM STREAM(changes) KEYS (id)
  APPLY AS DELETE WHEN op = "D" APPLY AS TRUNCATE WHEN op = "T"
  SEQUENCE BY STRUCT(day, no) COLUMNS * EXCEPT (op, day, no, changed) STORED AS SCD TYPE 1 COLUMNS TO UPDATE changed;

CREATE STREAMING TABLE history FLOW AUTO CDC FROM STREAM changes KEYS (id) WHERE id < 6
  IGNORE NULL UPDATES ON (city) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY struct(day, no) COLUMNS id, name, city
  STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (name);
"""
FILLED = """
CREATE OR REFRESH STREAMING LIVE TABLE filled;
APPLY CHANGES INTO LIVE.filled FROM STREAM(LIVE.changes) KEYS (id) IGNORE NULL UPDATES
  APPLY AS DELETE WHEN op = 'D' SEQUENCE BY day * 100 + no COLUMNS (id, name, city)
  STORED AS SCD TYPE 2 TRACK HISTORY ON city;
"""


def _events(random: Random) -> list[dict[str, Any]]:
    found = []
    for at in range(1, 60):
        op = "T" if at % 20 == 0 else random.choice("UUUUD")
        event = {"id": random.randint(1, 7), "op": op, "day": at // 9, "no": at % 9}
        if op == "U":
            event |= {name: random.choice([None, "x", "y"]) for name in ("name", "city")}
            event["changed"] = random.choice([["name"], ["CITY"], ["name", "city"], [], None])
        found.append(event | {"id": None} if op == "T" else event)
    return found


def _model(events: Iterable[dict[str, Any]], *, named: bool = False, at: Any = None) -> list[Event]:
    """Returns events as the model takes them; `at` computes the sequence."""
    return [
        Event(
            each["id"],
            at(each) if at else (each["day"], each["no"]),
            each["op"],
            {name: each.get(name) for name in ("name", "city")},
            frozenset(map(str.lower, each["changed"])) if named and each.get("changed") is not None else None,
        )
        for each in events
    ]


def _rows(project: PipelineProject, table: str) -> list[dict[str, Any]]:
    """Returns a table's rows, with structs as tuples."""
    return [
        {name: tuple(value.values()) if isinstance(value, dict) else value for name, value in row.items()}
        for row in read_table(project.path(table))
    ]


# Slow: clauses that the tables above have too, and APPLY CHANGES, which the test below has.
@pytest.mark.parametrize(
    "filled", [pytest.param(FILLED, id="all", marks=pytest.mark.slow), pytest.param("", id="most")]
)
def test_every_clause_gives_the_table_of_the_model(project: PipelineProject, filled: str) -> None:
    (project.directory / "flows.sql").write_text(PIPELINE + filled, encoding="utf-8")
    events = _events(Random("every clause"))
    late = Random(1).sample(events, 25)
    repeated = events[:5]
    project.arrive("1", [each for each in events if each not in late])
    project.arrive("2", [*late, *repeated])
    assert project.run().errors == ()

    keyed = [each for each in events if each["op"] != "T"]
    exported = [
        {"id": key, "name": "e", "city": "E", "op": "U", "day": day, "no": no}
        for key, day, no in ((1, 0, 1), (99, 9, 9))
    ]
    assert_table(_rows(project, "newest"), newest_rows(_model([*events, *exported], named=True), Settings()))
    partly = Settings(ignoring=frozenset({"city"}), tracked=frozenset({"city"}))
    assert_table(_rows(project, "history"), histories(_model(each for each in keyed if each["id"] < 6), partly))
    if filled:
        settings = Settings(ignoring=frozenset({"name", "city"}), tracked=frozenset({"city"}))
        by_number = _model(keyed, at=lambda each: each["day"] * 100 + each["no"])
        assert_table(_rows(project, "filled"), histories(by_number, settings))

    aside = read_table(project.path("history__quarantine"))
    unwanted = [row for row in aside if row["_quarantine_rules"] == ["the event meets where"]]
    assert len(unwanted) == len([each for each in [*events, *repeated] if each["op"] != "T" and each["id"] > 5])
    assert {tuple(row["_quarantine_rules"]) for row in aside if row["id"] is None} == {
        ("the key is not NULL", "the event meets where")
    }


def test_a_query_as_the_source_of_changes(project: PipelineProject) -> None:
    """A query in parentheses, a function and a DataFrame give what a view with that query gives, as above."""
    (project.directory / "flows.sql").write_text(
        """
        CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('in', format => 'json',
          schema => 'id LONG, name STRING, seen INT');
        CREATE STREAMING TABLE of_query;
        APPLY CHANGES INTO of_query
        FROM (SELECT id, upper(name) AS name, seen FROM STREAM(raw) WHERE id IS NOT NULL)
        KEYS (id) SEQUENCE BY seen STORED AS SCD TYPE 2;
        """,
        encoding="utf-8",
    )
    project.write("""
    def wanted_rows():
        return spark.readStream.table("raw").where("id IS NOT NULL").withColumn("name", F.upper("name"))

    common = dict(keys=["id"], sequence_by="seen", stored_as_scd_type=2)
    dlt.create_streaming_table("of_function")
    dlt.apply_changes("of_function", wanted_rows, **common)
    dlt.create_streaming_table("of_frame")
    arrived = spark.readStream.schema("id LONG, name STRING, seen INT").json("in")
    dp.create_auto_cdc_flow("of_frame", arrived.where("id IS NOT NULL").withColumn("name", F.upper("name")), **common)
    """)
    project.arrive("1", [{"id": 1, "name": "a", "seen": 2}, {"id": None, "name": "b", "seen": 3}])
    project.arrive("2", [{"id": 1, "name": "c", "seen": 1}, {"id": 2, "name": "d", "seen": 1}])
    assert project.run().errors == ()
    expected = [
        {"id": 1, "name": "C", "seen": 1, "__START_AT": 1, "__END_AT": 2},
        {"id": 1, "name": "A", "seen": 2, "__START_AT": 2, "__END_AT": None},
        {"id": 2, "name": "D", "seen": 1, "__START_AT": 1, "__END_AT": None},
    ]
    for table in ("of_query", "of_function", "of_frame"):
        assert_table(_rows(project, table), expected)
