"""Sinks: formats and functions, several flows into one, full refresh, failures, what the log shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.events import UpdateState
from penstock.testing.crash import forget_newest_commits

ORDERS = """
    @ps.table
    def orders():
        return spark.readStream.format("json").schema("id INT, amount INT").load("in")
"""


def _lines(folder: Path) -> list[dict[str, object]]:
    parts = [part for part in folder.glob("*.json") if not part.name.startswith("_")]
    return sorted((json.loads(line) for part in parts for line in part.read_text().splitlines()), key=str)


def test_formats_take_each_row_once_and_again_after_a_full_refresh(project: PipelineProject) -> None:
    project.write(
        ORDERS
        + """
    ps.create_sink("warehouse", "delta", {"tableName": "lake.orders"})
    ps.create_sink("by_path", format="delta", options={"path": "out/delta", "password": "hunter2"})
    ps.create_sink("files", "json", {"path": "out/json"})

    @ps.append_flow(target="warehouse")
    def low():
        return spark.readStream.table("orders").where("amount < 10")

    @dlt.append_flow(target="warehouse", name="high")
    def the_high_ones():
        return dlt.read_stream("orders").where("amount >= 10")

    @dp.append_flow(target="by_path")
    def all_of_them():
        return spark.readStream.table("orders")

    @dp.append_flow(target="files")
    def to_files():
        return spark.readStream.table("orders").select("id")
"""
    )
    project.arrive("first", [{"id": 1, "amount": 5}, {"id": 2, "amount": 50}])
    first = project.run()
    assert first.errors == ()
    warehouse = project.directory / ".penstock" / "tables" / "lake" / "orders"
    by_path = project.directory / "out" / "delta"
    assert sorted(row["id"] for row in read_table(warehouse)) == [1, 2]
    assert sorted(row["id"] for row in read_table(by_path)) == [1, 2]
    assert _lines(project.directory / "out" / "json") == [{"id": 1}, {"id": 2}]
    assert project.written(first) == {"orders": 2, "warehouse": 2, "by_path": 2, "files": 2}

    log = (project.directory / ".penstock" / "events").glob("*.jsonl")
    assert not any("hunter2" in segment.read_text() for segment in log)
    defined = {
        event.origin.dataset_name: event.details["sink_definition"]
        for event in project.events(first)
        if event.event_type.value == "sink_definition"
    }
    assert defined["shop.warehouse"]["options"] == {"tableName": "lake.orders"}
    assert defined["shop.by_path"]["options"] == {"path": "out/delta", "password": "*** (redacted)"}
    assert defined["shop.warehouse"]["inputs"] == ["shop.orders"]

    # As after a crash between the commit to the sink and the one to the checkpoint.
    checkpoints = (project.directory / ".penstock" / "checkpoints" / "shop").glob("*/*/0")
    forget_newest_commits({str(each): None for each in checkpoints})
    project.arrive("second", [{"id": 3, "amount": 7}])
    second = project.run()
    assert second.errors == ()
    again = {event.origin.dataset_name for event in project.events(second) if event.origin.batch_id == 0}
    assert {"shop.warehouse", "shop.by_path", "shop.files"} <= again, "their batches did run again"
    assert sorted(row["id"] for row in read_table(warehouse)) == [1, 2, 3]
    assert sorted(row["id"] for row in read_table(by_path)) == [1, 2, 3]
    assert _lines(project.directory / "out" / "json") == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert project.rows("orders", "id") == [1, 2, 3]

    with pytest.raises(StateError) as alone:
        project.run(full_refresh=("orders",))
    assert alone.value.condition == "FULL_REFRESH_BREAKS_READERS"
    assert "--full-refresh shop.warehouse" in alone.value.fix

    anew = project.run(full_refresh_all=True)
    assert [error.condition for error in anew.errors] == ["SINK_FOLDER_IN_USE"]
    assert sorted(row["id"] for row in read_table(warehouse)) == [1, 1, 2, 2, 3, 3], "a sink is not cleaned"
    assert project.rows("orders", "id") == [1, 2, 3]
    assert _lines(project.directory / "out" / "json") == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_function_takes_the_batches_of_several_flows(project: PipelineProject) -> None:
    project.write(
        ORDERS
        + """
    from penstock_test_calls import note

    @ps.table
    def names():
        return spark.readStream.format("json").schema("id INT, name STRING").load("names")

    @dp.foreach_batch_sink(name="out")
    def write(df, batch_id):
        known = df.sparkSession.read.table("names")
        df.createOrReplaceTempView("new")
        total = df.sparkSession.sql("SELECT sum(amount) AS total FROM new").first()["total"]
        names = "".join(sorted(row["name"] for row in df.join(known, "id").collect()))
        query = df.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        note(df.count(), total, batch_id, names, len(query))

    @ps.append_flow(target="out")
    def low():
        return spark.readStream.table("orders").where("amount < 10")

    @ps.append_flow(target="out")
    def high():
        return spark.readStream.table("orders").where("amount >= 10")

    @dlt.update_flow(target="out")
    def totals():
        return spark.readStream.table("orders").groupBy("id").agg(F.sum("amount").cast("int").alias("amount"))
"""
    )
    (project.directory / "penstock_test_calls.py").write_text(
        "import pathlib\n"
        "def note(*values):\n"
        f"    with open({str(project.directory / 'calls')!r}, 'a') as file:\n"
        "        file.write(' '.join(map(str, values)) + '\\n')\n"
    )
    project.arrive("names", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], folder="names")
    project.arrive("first", [{"id": 1, "amount": 5}, {"id": 2, "amount": 50}])
    first = project.run(refresh=("names",))
    assert first.errors == ()
    first = project.run()
    assert first.errors == ()
    calls = project.directory / "calls"
    assert sorted(calls.read_text().split("\n")[:-1]) == ["1 5 0 a 36", "1 50 0 b 36", "2 55 0 ab 36"]
    assert project.written(first) == {"orders": 2, "out": 4}, "each row counts once, however often it was used"

    calls.unlink()
    project.arrive("second", [{"id": 1, "amount": 6}])
    assert project.run().errors == ()
    assert sorted(calls.read_text().split("\n")[:-1]) == ["0 None 1  36", "1 11 1 a 36", "1 6 1 a 36"], (
        "an update adds up"
    )

    calls.unlink()
    assert project.run(full_refresh=("out",)).errors == ()
    assert {line.split()[2] for line in calls.read_text().split("\n")[:-1]} == {"0"}, "batches count from 0 again"


def test_what_a_function_raises_is_told_with_its_line(project: PipelineProject) -> None:
    project.write(
        ORDERS
        + """
    import os

    @ps.foreach_batch_sink
    def broken(df, batch_id):
        df.collect()
        raise KeyError("no such customer")

    @ps.foreach_batch_sink
    def away(df, batch_id):
        if not os.path.exists("there"):
            open("there", "w").close()
            raise ConnectionError("the database is restarting")

    @ps.foreach_batch_sink
    def leaves(df, batch_id):
        raise SystemExit(3)

    @ps.foreach_batch_sink
    def misspelt(df, batch_id):
        df.select("amuont").collect()

    @dlt.on_event_hook(max_allowable_consecutive_failures=2)
    def notify(event):
        with open("told", "a") as file:
            print(event["event_type"], event["details"].get("update_progress", {}).get("state"), file=file)

    @dlt.on_event_hook(max_allowable_consecutive_failures=2)
    def is_broken(event):
        return event["no such column"]

    for name in ("broken", "away", "leaves", "misspelt"):
        @ps.append_flow(target=name, name=f"to_{name}")
        def flow():
            return spark.readStream.table("orders")
"""
    )
    project.arrive("first", [{"id": 1, "amount": 5}])
    monkey = pytest.MonkeyPatch()
    monkey.chdir(project.directory)
    try:
        update = project.run()
    finally:
        monkey.undo()
    assert update.state is UpdateState.FAILED
    lines = (project.directory / "pipeline.py").read_text().splitlines()
    told = {str(error.dataset): error for error in update.errors}
    assert set(told) == {"shop.broken", "shop.leaves", "shop.misspelt"}
    for name, condition, text in (
        ("broken", "SINK_FUNCTION_FAILED", 'raise KeyError("no such customer")'),
        ("leaves", "SINK_FUNCTION_FAILED", "raise SystemExit(3)"),
        ("misspelt", "FLOW_FAILED", 'df.select("amuont").collect()'),
    ):
        error = told[f"shop.{name}"]
        assert error.condition == condition
        assert error.location is not None
        assert lines[(error.location.line or 0) - 1].strip() == text
    hooked = (project.directory / "told").read_text().splitlines()
    types = [event.event_type.value for event in project.events(update)]
    assert [line.split()[0] for line in hooked] == [each for each in types if each != "hook_progress"]
    assert hooked[-1] == "update_progress FAILED"
    assert types.count("hook_progress") == 2, "it failed, then it was disabled"
    assert told["shop.broken"].facts["error"] == "KeyError"
    assert project.statuses(update, "broken").count("STARTING") == 1, "a programming error is not tried again"
    assert project.statuses(update, "away")[-1] == "COMPLETED", "a lost connection is"
    assert project.statuses(update, "away").count("STARTING") == 2
    waiting = [event for event in project.events(update) if event.details.get("flow_progress", {}).get("retry_at")]
    [waits] = [event for event in waiting if event.origin.dataset_name == "shop.away"]
    assert waits.error is not None
    assert waits.error["condition"] == "SERVICE_UNREACHABLE"
    assert "ConnectionError: the database is restarting" in waits.message
    assert lines[waits.error["line"] - 1].strip() == 'raise ConnectionError("the database is restarting")'
