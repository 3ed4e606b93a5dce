"""Late rows come into their windows, against windows that Python counts from all rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from delta.tables import DeltaTable
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.commands.tables import late as command
from penstock.cli.main import app
from penstock.errors import ConfigError, PenstockError
from penstock.events import EventType
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime.commands import late_reprocessing
from penstock.runtime.commands.late_reprocessing import ReprocessedWindows, reprocess_late_rows
from penstock.runtime.project.workspace import say_nothing

PIPELINE = """
@ps.table
def orders():
    return spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")

@ps.view
@ps.expect_or_drop("known", "k <> 'x'")
def timed():
    return ps.read_stream("orders").withWatermark("at", "10 minutes")

@ps.table
@ps.expect("some", "n > 0")
def hours():
    counts = ps.read_stream("timed").groupBy(F.window("at", "1 hour"), "k").agg(F.count("*").alias("n"))
    return counts.select(F.upper("k").alias("k"), F.col("window.end").alias("until"), "n")
"""
SLIDING = """
@ps.table(output_mode="update")
def sliding():
    hour = F.window("at", "1 hour", "30 minutes").alias("hour")
    return ps.read_stream("timed").groupBy(hour).agg(F.count("*").alias("n"))
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
_FILES: list[list[tuple[str, int]]] = [
    [("a", 10), ("b", 50), ("a", 65)],
    [("a", 200), ("x", 190)],
    [("a", 20), ("a", 25), ("c", 70), ("b", 195), ("x", 30)],
    [("c", 40), ("a", 205), ("b", 400)],
]
"""Keys, and minutes after the start; of the third file three rows are late, of the last one one is."""


def arrive(project: PipelineProject, *files: int, refresh: tuple[str, ...] = ()) -> None:
    """Lets files arrive and runs the pipeline, once for all of them."""
    for file in files:
        rows = [
            {"id": 100 * file + n, "k": k, "at": (START + timedelta(minutes=at)).isoformat()}
            for n, (k, at) in enumerate(_FILES[file])
        ]
        project.arrive(str(file), rows)
    assert project.run(refresh=refresh).errors == ()


def windows(files: int, *, length: int, slide: int) -> Counter[tuple[str, int]]:
    """Counts the rows of all files by key and the window's end, in minutes after the start."""
    counts: Counter[tuple[str, int]] = Counter()
    for k, at in (row for rows in _FILES[:files] for row in rows if row[0] != "x"):
        first = at - at % slide
        counts.update((k, first - back + length) for back in range(0, length, slide))
    return counts


def minutes(time: datetime) -> int:
    return round((time - START).total_seconds() / 60)


def hours(project: PipelineProject) -> dict[tuple[str, int], int]:
    found = {(row["k"].lower(), minutes(row["until"])): row["n"] for row in read_table(project.path("hours"))}
    assert len(found) == len(read_table(project.path("hours")))
    return found


def late(project: PipelineProject, table: str) -> int:
    return len(read_table(project.path(f"{table}__late")))


def counted(project: PipelineProject, table: str) -> int | None:
    """What `penstock status` says is late."""
    found = project_status(project.events()).dataset(f"shop.{table}")
    assert found is not None
    return found.late


def reprocess(project: PipelineProject, table: str) -> ReprocessedWindows:
    return reprocess_late_rows(project.config, table, progress=say_nothing, spark=project.spark)


# Slow: a row of sliding windows comes into each of them as it does into one; only the windows are others.
@pytest.mark.parametrize(
    "sliding", [pytest.param(SLIDING, id="sliding too", marks=pytest.mark.slow), pytest.param("", id="tumbling")]
)
def test_windows_are_what_they_would_be_had_the_rows_come_in_time(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, sliding: str
) -> None:
    project.write(PIPELINE + sliding)
    arrive(project, 0, 1)
    arrive(project, 2)
    closed = {each: n for each, n in windows(3, length=60, slide=60).items() if each[1] <= 180}
    assert hours(project) == {("a", 60): 1, ("b", 60): 1, ("a", 120): 1}
    assert late(project, "hours") == 3
    before = project.version("hours")

    def dying(*_: Any) -> None:
        raise OSError("the process dies here")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "delete", dying)
        with pytest.raises(PenstockError):
            reprocess(project, "hours")
    assert (hours(project), late(project, "hours")) == (closed, 3), "the windows, and not the late rows yet"
    done = reprocess(project, "HOURS")
    assert (str(done.table), done.windows, done.late_rows) == ("shop.hours", 2, 3)
    assert (hours(project), late(project, "hours")) == (closed, 0)
    assert counted(project, "hours") == 0
    assert project.version("hours") == before + 2, "each time one commit"
    assert reprocess(project, "hours").windows == 0
    assert project.version("hours") == before + 2

    if sliding:
        _reprocess_sliding(project)

    arrive(project, 3, refresh=("orders", "hours"))
    assert (late(project, "hours"), counted(project, "hours")) == (1, 1), "the flow goes on as before"
    monkeypatch.setattr(command, "enter", lambda config, writes: None)
    monkeypatch.setattr(late_reprocessing, "reprocess_late_rows", partial(reprocess_late_rows, spark=project.spark))
    ended = CliRunner().invoke(app, ["late", "reprocess", "hours", str(project.directory), "--json"])
    assert (ended.exit_code, json.loads(ended.stdout)) == (0, {"table": "shop.hours", "windows": 1, "late_rows": 1})
    assert hours(project) == {each: n for each, n in windows(4, length=60, slide=60).items() if each[1] <= 390}
    told = [event.details["user_action"] for event in project.events() if event.event_type is EventType.USER_ACTION]
    assert {"table": "shop.hours", "windows": 1, "late_rows": 1} in [
        each["arguments"] for each in told if each["action"] == "REPROCESS_LATE_ROWS"
    ]


def _reprocess_sliding(project: PipelineProject) -> None:
    assert (late(project, "sliding"), counted(project, "sliding")) == (6, 6), "those of the other table are gone"
    assert reprocess(project, "sliding").late_rows == 6
    every: Counter[int] = Counter()
    for (_, end), n in windows(3, length=60, slide=30).items():
        every[end] += n
    found = {minutes(row["hour"]["end"]): row["n"] for row in read_table(project.path("sliding"))}
    assert (found, late(project, "sliding")) == (every, 0)


REFUSED = """
def aggregated(rows):
    rows = rows.withWatermark("at", "10 minutes")
    return rows.groupBy(F.window("at", "1 hour")).agg(F.count("*").alias("n")).select("window.start", "n")

@ps.table
def of_files():
    return aggregated(spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").json("in"))

@ps.table
def once():
    return ps.read_stream("orders").withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])

@ps.table
def recent():
    return aggregated(ps.read_stream("orders").where("at < current_timestamp()"))

@ps.table
def windowless():
    rows = ps.read_stream("orders").withWatermark("at", "10 minutes")
    return rows.groupBy(F.window("at", "1 hour"), "k").agg(F.count("*").alias("n")).select("k", "n")

@ps.table
def sessions():
    rows = ps.read_stream("orders").withWatermark("at", "10 minutes")
    return rows.groupBy(F.session_window("at", "5 minutes"), "k").agg(F.count("*").alias("n"))

@ps.table
def pairs():
    rows = ps.read_stream("orders").withWatermark("at", "10 minutes")
    others = ps.read_stream("orders").withWatermark("at", "10 minutes").selectExpr("id AS other", "at AS other_at")
    return rows.join(others, F.expr("id = other AND other_at BETWEEN at AND at + INTERVAL 1 HOUR"))

@ps.table
def read_on():
    return aggregated(ps.read_stream("orders"))

@ps.table
def reader():
    return ps.read_stream("read_on")

@ps.table
@ps.expect_or_quarantine("few", "n < 100")
def judged():
    return aggregated(ps.read_stream("orders"))

@ps.table(table_properties={"delta.appendOnly": "true"})
def for_ever():
    return aggregated(ps.read_stream("orders"))

@ps.table
def with_names():
    rows = ps.read_stream("orders").join(spark.read.table("names"), "k")
    return aggregated(rows)

@ps.materialized_view
def names():
    return spark.createDataFrame([("a", "Ann")], "k STRING, name STRING")

@ps.table
def in_time():
    return aggregated(ps.read_stream("orders").where("k = 'no such'"))
"""


@pytest.mark.slow  # a dozen flows
def test_what_would_not_be_exact_is_refused(project: PipelineProject) -> None:
    orders = PIPELINE[: PIPELINE.index("@ps.view")]
    project.write(orders + REFUSED)
    arrive(project, 0, 1)
    arrive(project, 2)
    reasons = {
        "of_files": "it reads json ./in, and not a table of the pipeline that keeps its rows",
        "once": "that takes an aggregation as its only operator with state; it has: deduplicate within watermark",
        "pairs": "that takes an aggregation as its only operator with state; it has: stream-stream join",
        "recent": "current_timestamp differs with each refresh",
        "windowless": "it groups by window, which is not one of its columns",
        "sessions": "it does not group by one window of time, tumbling or sliding",
        "read_on": "shop.reader reads it as a stream, and a stream does not take rows back",
        "judged": "its expectations are not part of its query (a quarantine, unique keys, update mode)",
        "for_ever": "its property delta.appendOnly keeps rows from being replaced",
        "with_names": "it reads shop.names as it is now, and not as it was for each batch",
    }
    assert {table: _refused(project, table) for table in reasons} == {
        table: ("LATE_ROWS_NOT_REPROCESSABLE", reason) for table, reason in reasons.items()
    }
    assert all(late(project, table) for table in reasons), "nothing is gone"
    assert [_refused(project, table)[0] for table in ("in_time", "nothing", "names")] == ["LATE_ROWS_NOT_FOUND"] * 3


def _refused(project: PipelineProject, table: str) -> Sequence[Any]:
    with pytest.raises(ConfigError) as refusal:
        reprocess(project, table)
    return refusal.value.condition, refusal.value.facts.get("reason")
