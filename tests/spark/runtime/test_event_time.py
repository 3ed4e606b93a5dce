"""Event times from the future, of long ago, of mixed zones and without a value, and the watermarks behind them."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import QUICK_RETRIES, PipelineProject

from penstock.care.checkpoints.replaying import plan_replay
from penstock.cli.commands.checkpoints.checkpoint import open_inventory
from penstock.events import UpdateState
from penstock.runtime.commands.batch_replay import ReplayedBatch, replay_batch
from penstock.runtime.project.workspace import say_nothing
from penstock.spark.writers import checking_writer

PIPELINE = """
def seen():
    return spark.readStream.schema("id LONG, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")

def once(rows):
    return rows.withWatermark("at", "30 minutes").dropDuplicatesWithinWatermark(["id"])

@ps.table
@ps.expect_event_time("at", max_future="10 minutes")
def orders():
    return seen()

@ps.view
@ps.expect_event_time("at", max_future="10 minutes", action="drop")
def timed():
    return seen()

@ps.table
def of_table():
    return once(ps.read_stream("orders"))

@ps.table
def of_view():
    return once(ps.read_stream("timed"))
"""
_KIRITIMATI = timezone(timedelta(hours=14))


def arrive(project: PipelineProject, name: str, times: dict[int, str | None]) -> None:
    project.arrive(name, [{"id": number, "at": at} for number, at in times.items()])
    os.utime(project.directory / f"in/{name}.json", (1_767_000_000 + int(name),) * 2)


def aside(project: PipelineProject, table: str) -> list[Any]:
    return sorted(row["id"] for row in read_table(project.path(f"{table}__quarantine")))


def late(project: PipelineProject, table: str) -> list[Any]:
    folder = project.path(f"{table}__late")
    return sorted(row["id"] for row in read_table(folder)) if folder.exists() else []


def test_times_that_cannot_be_stay_off_the_watermark(project: PipelineProject) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    far_east = now.astimezone(_KIRITIMATI)
    soon, later = now + timedelta(minutes=5), now + timedelta(hours=1)
    arrive(project, "0", {1: now.isoformat(), 10: "1969-12-31T23:59:59Z"})
    arrive(
        project,
        "1",
        {
            2: "2200-01-01T00:00:00Z",
            3: None,
            4: far_east.replace(tzinfo=UTC).isoformat(),  # a local time that somebody took for UTC
            5: far_east.isoformat(),
            6: soon.isoformat(),
            7: later.isoformat(),
        },
    )
    project.write(PIPELINE)
    first = project.run()
    assert first.errors == ()
    arrive(project, "2", {8: (now - timedelta(minutes=1)).isoformat(), 9: "1955-11-05T06:15:00-08:00"})
    assert project.run().errors == ()

    assert project.rows("orders", "id") == [1, 5, 6, 8, 9, 10]
    assert aside(project, "orders") == [2, 3, 4, 7]
    (poisoned,) = (row for row in read_table(project.path("orders__quarantine")) if row["id"] == 2)
    assert poisoned["_quarantine_rules"] == ["at at most 10 minutes ahead"]
    assert poisoned["_quarantine_source"]["file_path"].endswith("/in/1.json")
    for table in ("of_table", "of_view"):
        assert project.rows(table, "id") == [1, 5, 6, 8], table
        assert late(project, table) == [9, 10], "long ago is late, before 1970 in the first batch too"
    rule = "at at most 10 minutes ahead"
    assert project.quality(first)["orders", rule] == (4, 4, "quarantine")
    assert project.quality(first)["timed", rule] == (4, 4, "drop")


def test_times_that_cannot_be_are_told_of_where_nothing_keeps_them_off(project: PipelineProject) -> None:
    project.write(
        """
        @ps.table
        def hours():
            rows = spark.readStream.schema("id LONG, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
            counts = rows.withWatermark("at", "30 minutes").groupBy(F.window("at", "1 hour")).count()
            return counts.select("window.start", "count")
        """
    )
    now = datetime.now(UTC).replace(microsecond=0)
    arrive(project, "0", {1: now.isoformat(), 3: "1969-11-05T06:15:00-08:00"})
    arrive(project, "1", {2: None, 4: "2200-01-01T00:00:00Z"})
    assert project.run().errors == ()
    arrive(project, "2", {5: now.isoformat()})
    assert project.run().errors == ()
    assert late(project, "hours") == [3, 5], "one before all, one behind the year 2200"
    errors = [event.error for event in project.events() if event.error is not None]
    assert [error["condition"] for error in errors] == ["EVENT_TIME_MISSING", "WATERMARK_AHEAD"]
    assert errors[0]["message"].startswith("1 of the 2 rows that batch 1 of the flow 'hours'")
    assert "2200-01-01" in errors[1]["message"]
    assert "expect_event_time('at')" in errors[0]["fix"]


FILTERED = """
        @ps.table
        @ps.expect_event_time("local", action="drop")
        def filtered():
            return seen()
"""


# Slow: what is dropped is judged as what goes into quarantine.
@pytest.mark.parametrize(
    "filtered", [pytest.param(FILTERED, id="and dropped", marks=pytest.mark.slow), pytest.param("", id="quarantined")]
)
def test_a_batch_that_runs_again_is_judged_by_its_own_time(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, filtered: str
) -> None:
    project.write(
        f"""
        def seen():
            rows = spark.readStream.schema("id LONG, at TIMESTAMP").json("in")
            return rows.withColumn("local", F.col("at").cast("timestamp_ntz"))

        @ps.table
        @ps.expect_event_time("at")
        def held():
            return seen()
        {filtered}
        """
    )
    arrive(project, "0", {1: "2019-06-01T00:00:00Z", 2: "2021-06-01T00:00:00Z"})

    def dying(*_: Any, **__: Any) -> None:
        raise SystemError("the process dies here")

    project.retries = type(project.retries)(max_flow_retries=0, first_delay=0.01, longest_delay=0.01)
    with monkeypatch.context() as patched:
        patched.setattr(checking_writer, "append_to_table", dying)
        assert project.run().state is UpdateState.FAILED
    project.retries = QUICK_RETRIES
    for table in ("held", "filtered") if filtered else ("held",):
        was_planned_at(project, table, datetime(2020, 1, 1, tzinfo=UTC))
    assert project.run().errors == ()
    assert (project.rows("held", "id"), aside(project, "held")) == ([1], [2]), "in 2020, 2021 was the future"

    assert replay(project, "held").difference.same
    if filtered:
        assert project.rows("filtered", "id") == [1, 2], "written before the clock was turned back"
        again = replay(project, "filtered").difference
        assert (again.equal, again.only_left, [row.values[0] for row in again.rows]) == (1, 0, [2])


def was_planned_at(project: PipelineProject, table: str, time: datetime) -> None:
    """Makes the flow's first batch one of another time."""
    offsets = project.directory / f".penstock/checkpoints/shop/{table}/{table}/0/offsets"
    text = (offsets / "0").read_text()
    changed, found = re.subn(r'"batchTimestampMs":\d+', f'"batchTimestampMs":{int(time.timestamp() * 1000)}', text)
    assert found == 1
    (offsets / "0").write_text(changed)
    (offsets / ".0.crc").unlink(missing_ok=True)


def replay(project: PipelineProject, table: str) -> ReplayedBatch:
    config = project.config
    recorded = plan_replay(open_inventory(config), table, 0, flow=None, default_schema="shop")
    return replay_batch(config, recorded, progress=say_nothing, spark=project.spark)
