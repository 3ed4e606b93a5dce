"""Flows of whole snapshots, end to end; the tables are read without Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.oracle.tables import read_table, table_version
from tests.spark.pipeline_project import PipelineProject

CODE = """
import json, os

SCHEMA = "id LONG, name STRING, city STRING, tags MAP<STRING, LONG>"
FOLDER = "snapshots"

def following(latest):
    versions = sorted(int(name) for name in os.listdir(FOLDER))
    newer = [version for version in versions if latest is None or version > latest]
    if not newer:
        return None
    path = os.path.join(FOLDER, str(newer[0]))
    return spark.read.schema(SCHEMA).json(path), newer[0]

def single():
    return spark.read.schema(SCHEMA).json(os.path.join(FOLDER, "1"))

dlt.create_streaming_table("history", private=True)
dlt.apply_changes_from_snapshot(
    target="history", snapshot_and_version=following, keys=["id"], stored_as_scd_type=2,
    track_history_except_column_list=["city"],
)
dp.create_streaming_table("newest", path="own_place")
dp.create_auto_cdc_from_snapshot_flow(target="newest", source=following, keys=[F.col("id")], stored_as_scd_type=1)

@dlt.view
def current():
    return spark.read.schema(SCHEMA).json("current")

ps.create_streaming_table("periodic")
ps.create_auto_cdc_from_snapshot_flow("periodic", source="current", keys=["id"], stored_as_scd_type=2)
dlt.create_streaming_table("fixed")
dlt.apply_changes_from_snapshot(target="fixed", source=(single(), "v1"), keys=["id"], stored_as_scd_type="1")
"""

STUCK = """
dlt.create_streaming_table("stuck")
dlt.apply_changes_from_snapshot(target="stuck", source=lambda latest: (people(), 1), keys=["id"], stored_as_scd_type=1)
"""


def person(id_: int | None, name: str, city: str | None = None) -> dict[str, Any]:
    return {"id": id_, "name": name, "city": city}


def snapshot(project: PipelineProject, version: int, rows: list[dict[str, Any]]) -> None:
    """Writes one; a map with the same entries in another order each time is no change."""
    tags = {"a": 1, "b": 2} if version % 2 else {"b": 2, "a": 1}
    folder = project.directory / "snapshots" / str(version)
    folder.mkdir(parents=True)
    text = "".join(json.dumps({**row, "tags": tags}) + "\n" for row in rows)
    (folder / "rows.json").write_text(text, encoding="utf-8")


def path(project: PipelineProject, name: str) -> Path:
    return project.directory / "own_place" if name == "newest" else project.path(name)


def table(project: PipelineProject, name: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    rows = [tuple(row[column] for column in columns) for row in read_table(path(project, name))]
    return sorted(rows, key=lambda row: tuple((value is None, value) for value in row))


HISTORY = ("id", "name", "city", "__START_AT", "__END_AT")


def test_snapshots_of_a_function_of_a_name_and_a_single_one(project: PipelineProject) -> None:
    project.write(CODE.replace('"snapshots"', repr(str(project.directory / "snapshots"))))
    snapshot(project, 1, [person(1, "a", "X"), person(2, "b", "X"), person(3, "c", "X")])
    snapshot(project, 3, [person(1, "a", "Y"), person(2, "B", "X"), person(4, "d")])
    project.arrive("1", [person(1, "a"), person(2, "b")], folder="current")
    first = project.run()
    assert first.errors == ()
    assert table(project, "newest", HISTORY[:3]) == [(1, "a", "Y"), (2, "B", "X"), (4, "d", None)]
    assert table(project, "fixed", HISTORY[:2]) == [(1, "a"), (2, "b"), (3, "c")]
    after_two = [
        (1, "a", "Y", 1, None),
        (2, "B", "X", 3, None),
        (2, "b", "X", 1, 3),
        (3, "c", "X", 1, 3),
        (4, "d", None, 3, None),
    ]
    assert table(project, "history", HISTORY) == after_two
    definitions = [
        each.details["flow_definition"] for each in project.events(first) if "flow_definition" in each.details
    ]
    assert {each["flow_type"] for each in definitions} == {"view", "snapshot_change"}

    # No new snapshot: nothing is written. A row that comes back begins anew.
    versions = [table_version(path(project, name)) for name in ("history", "newest", "fixed")]
    (project.directory / "current" / "1.json").unlink()
    project.arrive("2", [person(1, "A"), person(3, "c")], folder="current")
    assert project.run().errors == ()
    assert [table_version(path(project, name)) for name in ("history", "newest", "fixed")] == versions
    rows = {(row["id"], row["name"]): row for row in read_table(project.path("periodic"))}
    assert {key: row["__END_AT"] is None for key, row in rows.items()} == {
        (1, "a"): False,
        (1, "A"): True,
        (2, "b"): False,
        (3, "c"): True,
    }
    assert rows[1, "a"]["__END_AT"] == rows[1, "A"]["__START_AT"] == rows[2, "b"]["__END_AT"]

    snapshot(project, 5, [person(1, "a", "Y"), person(2, "B", "X"), person(3, "c"), person(3, "again")])
    [error] = project.run(refresh=("history",)).errors
    assert error.condition == "SNAPSHOT_KEYS_NOT_UNIQUE"
    assert error.facts.items() >= {"repeated": "1"}.items()
    assert table(project, "history", HISTORY) == after_two
    (project.directory / "snapshots" / "5" / "rows.json").unlink()
    (project.directory / "snapshots" / "5").rmdir()
    snapshot(project, 4, [person(3, "c", "Z")])
    done = project.run(refresh=("history",))
    assert done.errors == ()
    assert table(project, "history", HISTORY) == [
        (1, "a", "Y", 1, 4),
        (2, "B", "X", 3, 4),
        (2, "b", "X", 1, 3),
        (3, "c", "X", 1, 3),
        (3, "c", "Z", 4, None),
        (4, "d", None, 3, 4),
    ]
    [batch] = [
        each.details["flow_progress"]["metrics"]
        for each in project.events(done)
        if "metrics" in each.details.get("flow_progress", {})
    ]
    assert (batch["batch_id"], batch["num_upserted_rows"], batch["num_deleted_rows"]) == (2, 4, 0)

    # The function has nothing left for `None`: what it brought earlier tells, wherever that is and whoever may read it.
    shutil.rmtree(project.directory / "snapshots")
    (project.directory / "snapshots").mkdir()
    without = CODE.partition('dlt.create_streaming_table("fixed")')[0]
    without = without.replace('"snapshots"', repr(str(project.directory / "snapshots")))
    project.write(without)
    assert project.validate().errors == ()
    project.write(without.replace('"own_place"', '"nowhere"') + STUCK.replace("(people(), 1)", "spark.range(1)"))
    unknown, invalid = project.validate().errors
    assert (unknown.condition, unknown.facts["target"]) == ("SNAPSHOT_NOT_FOUND", "shop.newest")
    assert (invalid.condition, invalid.facts["returned"]) == ("SNAPSHOT_INVALID", "DataFrame")
    project.arrive("1", [person(1, "a")], folder="once")
    people = 'def people():\n    return spark.read.schema("id LONG, name STRING, city STRING").json("once")\n'
    project.write(people + STUCK)
    [stuck] = project.run().errors
    assert (stuck.condition, stuck.facts["version"], stuck.facts["latest"]) == (
        "SNAPSHOT_VERSION_NOT_GREATER",
        "1",
        "1",
    )
    assert table(project, "stuck", ("id", "name")) == [(1, "a")]
