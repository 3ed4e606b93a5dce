"""One flow into several sinks: its sources are read once, and what a crash cut off is all that is written again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.plan.explain import render_plan
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update

pytestmark = pytest.mark.usefixtures("sqlite_connector")

_PIPELINE = """
    import pathlib

    ps.create_sink("archive", "delta", {"path": "archive"})
    ps.create_sink("orders_db", "sqlite", {"path": "out.db", "table": "orders", "keys": "id"})
    ps.create_sink("everywhere", "sinks", {
        "sinks": "seen, archive, weak, orders_db", "select.orders_db": "id, upper(note) AS note",
    })

    @ps.foreach_batch_sink
    def seen(df, batch_id):
        note = pathlib.Path("seen.txt")
        text = note.read_text() if note.exists() else ""
        note.write_text(text + f"{batch_id}:{sorted(row.id for row in df.collect())} ")

    @ps.foreach_batch_sink
    def weak(df, batch_id):
        if pathlib.Path("away").exists():
            raise KeyError("the sink is away")

    @ps.append_flow(target="everywhere")
    def out():
        return spark.readStream.schema("id INT, note STRING").json("in")
"""


def _database(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT id, note FROM orders ORDER BY 1").fetchall()


def test_each_sink_gets_each_row_once(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.directory)
    project.write(_PIPELINE)
    project.arrive("1", [{"id": 1, "note": "a"}, {"id": 2, "note": "b"}])
    text = render_plan(plan_update(project.config, RefreshSelection(), spark=project.spark).plan)
    assert "seen as its function does, archive exactly once" in text
    assert project.run().errors == ()
    away = project.directory / "away"
    away.touch()
    project.arrive("2", [{"id": 3, "note": "c"}])
    [error] = project.run().errors
    assert (error.condition, error.facts["error"]) == ("SINK_FUNCTION_FAILED", "KeyError")
    assert _database(project.directory / "out.db") == [(1, "A"), (2, "B")]
    away.unlink()
    project.arrive("3", [{"id": 4, "note": "d"}])
    outcome = project.run()
    assert outcome.errors == ()
    assert _database(project.directory / "out.db") == [(1, "A"), (2, "B"), (3, "C"), (4, "D")]
    assert sorted(row["id"] for row in read_table(project.directory / "archive")) == [1, 2, 3, 4]
    seen = (project.directory / "seen.txt").read_text()
    assert seen == "0:[1, 2] 1:[3] 2:[4] ", "the batch that was cut off came to it once"
    assert project.written(outcome)["everywhere"] == 2
    accounts = [each.details["accounting"] for each in project.events(outcome) if "accounting" in each.details]
    assert [each["read"] for each in accounts] == [1, 1], "the sources are read once for all sinks"
    assert {each["verdict"] for each in accounts} == {"BALANCED"}
