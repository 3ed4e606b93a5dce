"""How late rows come is counted in each batch, so that what another delay would drop is known before it is set."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from tests.oracle.tables import read_table
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import DELAYS_MS, batch_progress_of, tail_events

PIPELINE = """
def seen(delay="{delay}"):
    rows = spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
    return rows.where("k <> 'x'").withWatermark("at", delay)

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
def windows():
    counts = seen().groupBy(F.window("at", "10 minutes"), "k").count()
    return counts.where("count < 1000").select("window.end", "k", "count")
"""
MORE = """
@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
@dlt.expect_or_quarantine("known", "k <> 'b'")
def within():
    return seen().dropDuplicatesWithinWatermark(["id"])

@dlt.table(table_properties={{"delta.appendOnly": "false"}}, spark_conf={{"pipelines.watermark.lateness": "true"}})
def sliding():
    return seen().groupBy(F.window("at", "20 minutes", "10 minutes")).count().select("window.end", "count")

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
def sessions():
    return seen().groupBy(F.session_window("at", "5 minutes"), "k").count().select("session_window.end", "count")

@ps.table(output_mode="update", spark_conf={{"pipelines.watermark.lateness": "true"}})
def updated():
    return seen().groupBy(F.window("at", "10 minutes")).count().select("window.start", "count")

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "false"}})
def unasked():
    return seen().dropDuplicatesWithinWatermark(["id"])

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

class Count(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timerValues):
        yield Row(k=key[0], n=sum(1 for _ in rows))

def counted(mode):
    return seen().groupBy("k").transformWithState(Count(), "k STRING, n LONG", "Append", mode)

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
def own():
    return counted("EventTime")

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
def timeless():
    return counted("None")

@dlt.table(spark_conf={{"pipelines.watermark.lateness": "true"}})
def filtered():
    return seen().groupBy(F.window("at", "10 minutes"), "k").count().where("k = 'a'").select("window.end", "count")
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENT, HASTY = timedelta(hours=2), timedelta(minutes=5)
FILES = 4
Row = tuple[int, str, datetime]
BATCHES = [0, 1, None, 2, 3, None]
"""The file of each batch when two arrive before each of two runs: the last one of a run has none."""


def rows_of(file: int) -> list[Row]:
    draw = random.Random(file)
    found = [
        (1000 * file + n, draw.choice("abx"), START + timedelta(seconds=600 * file + draw.uniform(-2400, 600)))
        for n in range(300)
    ]
    return [(i, k, at.replace(microsecond=at.microsecond // 1000 * 1000)) for i, k, at in found]


def arrive(project: PipelineProject, files: Iterable[int]) -> None:
    for file in files:
        rows = [{"id": i, "k": k, "at": at.strftime("%Y-%m-%dT%H:%M:%S.%f")} for i, k, at in rows_of(file)]
        project.arrive(str(file), rows)
        os.utime(project.directory / "in" / f"{file}.json", (1_767_000_000 + file,) * 2)


def lateness(table: str) -> list[tuple[int, timedelta]]:
    """By batch: how late each row that the operator gets is. None is late before there is a watermark."""
    found: list[tuple[int, timedelta]] = []
    newest: list[datetime | None] = []
    for number, file in enumerate(BATCHES):
        before = newest[number - 2] if number >= 2 else None
        rows = [] if file is None else [row for row in rows_of(file) if row[1] != "x"]
        times = [decides for _, _, at in rows for decides in deciding(table, at)]
        found += [(number, timedelta(days=-1) if before is None else before - decides) for decides in times]
        newest.append(max([at for at in newest[-1:] if at] + [at for _, _, at in rows], default=None))
    return found


def deciding(table: str, at: datetime) -> list[datetime]:
    end = at.replace(minute=at.minute - at.minute % 10, second=0, microsecond=0) + timedelta(minutes=10)
    own = {
        "within": [at],
        "own": [at],
        "sessions": [at + timedelta(minutes=5)],
        "sliding": [end, end + timedelta(minutes=10)],
    }
    return own.get(table, [end])


def told(project: PipelineProject, table: str) -> dict[int, Any]:
    found = {}
    for event in project.events():
        progress = batch_progress_of(event)
        if progress is not None and event.origin.flow_name == table and progress.lateness is not None:
            found[progress.batch_id] = progress.lateness
    return found


def run(project: PipelineProject, delay: timedelta, code: str = PIPELINE) -> None:
    project.write(code.format(delay=f"{delay.total_seconds():.0f} seconds"))
    for files in (range(2), range(2, FILES)):
        arrive(project, files)
        assert project.run().errors == ()


def check_histogram(project: PipelineProject, table: str, delay: timedelta) -> None:
    edges = sorted({*DELAYS_MS, round(delay.total_seconds() * 1000)})
    expected: dict[int, Counter[int]] = {}
    rows: Counter[int] = Counter()
    for batch, late in lateness(table):
        rows[batch] += 1
        milliseconds = late / timedelta(milliseconds=1)
        if milliseconds >= 0:
            expected.setdefault(batch, Counter())[max(edge for edge in edges if edge <= milliseconds)] += 1
    measured = told(project, table)
    assert {batch: one.rows for batch, one in measured.items() if one.rows} == dict(rows)
    assert {batch: dict(one.late) for batch, one in measured.items() if one.late} == {
        batch: dict(counts) for batch, counts in expected.items()
    }
    assert sum(sum(counts.values()) for counts in expected.values()) > 100


def predicted(project: PipelineProject, table: str, delay: timedelta) -> int:
    at_least = round(delay.total_seconds() * 1000)
    return sum(count for one in told(project, table).values() for at, count in one.late.items() if at >= at_least)


def dropped(project: PipelineProject, table: str) -> int:
    return len(read_table(project.path(f"{table}__late")))


@pytest.mark.slow
def test_what_another_delay_would_drop_is_what_it_drops(project: PipelineProject, tmp_path: Any) -> None:
    run(project, PATIENT)
    check_histogram(project, "windows", PATIENT)
    assert predicted(project, "windows", PATIENT) == 0
    other = PipelineProject(tmp_path / "hasty", project.spark)
    other.directory.mkdir()
    run(other, HASTY)
    assert predicted(project, "windows", HASTY) == dropped(other, "windows") > 0
    check_histogram(other, "windows", HASTY)


HOURLY = """
@dlt.table({setting})
def windows():
    rows = spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
    counts = rows.withWatermark("at", "30 minutes").groupBy(F.window("at", "10 minutes")).count()
    return counts.select("window.end", "count")
"""


@pytest.mark.slow
def test_unless_told_it_counts_in_samples_and_a_checkpoint_goes_on_with_and_without(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.late.lateness.SAMPLED_BATCHES", 3)
    monkeypatch.setattr("penstock.spark.late.lateness.FIRST_SAMPLES", (2,))
    tails = Mock(wraps=tail_events)
    monkeypatch.setattr("penstock.runtime.flows.streaming_flow.tail_events", tails)
    never, sample = 'spark_conf={"pipelines.watermark.lateness": "false"}', ""
    expected: Counter[datetime] = Counter()
    settings = (never, sample, sample, sample, never)
    for hour, setting in enumerate(settings):  # batch 2 * hour has rows, and the next one closes windows
        times = [START + timedelta(hours=hour, minutes=minutes) for minutes in (0, 1, 25, 59, -45)]
        expected.update(at + timedelta(minutes=10 - at.minute % 10) for at in (times[:4] if hour else times))
        rows = [{"id": n, "k": "a", "at": f"{at:%Y-%m-%dT%H:%M:%S}"} for n, at in enumerate(times)]
        project.write(HOURLY.format(setting=setting))
        project.arrive(str(hour), rows)
        assert project.run().errors == ()
    closed = START + timedelta(hours=len(settings) - 1, minutes=29)
    written = {end: count for end, count in expected.items() if end <= closed}
    assert {row["end"]: row["count"] for row in read_table(project.path("windows"))} == written
    assert dropped(project, "windows") == len(settings) - 1
    counted = {batch: one.rows for batch, one in told(project, "windows").items()}
    assert counted == {2: 5, 6: 5}, "of 2, 4 and 6, for which it was on, the first ones and each third one"
    assert tails.call_count == len(settings), "the end of the log is read once for each start"


@pytest.mark.slow
def test_each_operator_is_measured_as_it_drops(project: PipelineProject) -> None:
    run(project, HASTY, PIPELINE + MORE)
    for table in ("windows", "within", "sliding", "sessions", "updated", "own"):
        check_histogram(project, table, HASTY)
        assert predicted(project, table, HASTY) == dropped(project, table) > 0
    assert told(project, "unasked") == {}
    assert told(project, "timeless") == {}, "it takes late rows as well"
    assert sum(project.rows("timeless", "n")) == sum(row[1] != "x" for n in range(FILES) for row in rows_of(n))
    assert told(project, "filtered") == {}, "its predicate goes to the source, and shall go on doing so"


@pytest.mark.slow
def test_after_a_change_of_the_delay_nothing_is_told_until_the_watermark_moved(project: PipelineProject) -> None:
    project.write(PIPELINE.format(delay="1 hour"))
    arrive(project, [0, 1])
    assert project.run().errors == ()
    project.write(PIPELINE.format(delay="1 minute"))
    arrive(project, [2, 3, 4])
    assert project.run().errors == ()
    measured = told(project, "windows")
    assert {batch for batch, one in measured.items() if one.rows} == {0, 1, 5}, "3 and 4 are behind the old watermark"
    newest = [max(at for file in range(number) for _, k, at in rows_of(file) if k != "x") for number in range(1, 6)]
    late = sum(newest[2] >= deciding("windows", at)[0] for _, k, at in rows_of(4) if k != "x")
    assert sum(measured[5].late.values()) == late > 0


@pytest.mark.slow  # as the pages are
def test_the_pipeline_of_the_page(project: PipelineProject) -> None:
    page = ROOT / "docs/how-to/watermark.md"
    project.write("\n".join(block.text for block in blocks(page) if "pipeline" in block.marks))
    for number, times in enumerate((["12:00", "12:30"], ["15:00"], ["11:40", "14:55"], ["15:10"])):
        rows = [{"shop": "a", "amount": 1.0, "ordered_at": f"2026-01-01T{time}:00Z"} for time in times]
        project.arrive(str(number), rows, folder="orders")
        assert project.run().errors == ()
    shown = CliRunner().invoke(app, ["watermark", "revenue", str(project.directory)], env={"COLUMNS": "250"})
    assert shown.exit_code == 0, shown.output
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert any(line[:3] == ["1", "hour", "1"] and line[-1] == "current" for line in lines), shown.stdout
    assert any(line[:3] == ["4", "hours", "0"] for line in lines), shown.stdout
    assert "3 rows measured, in 2 of 4 batches: 3 of 6 rows read." in shown.stderr
    assert len(read_table(project.path("revenue__late"))) == 1


NOT_MEASURED = """
def seen():
    return spark.readStream.schema("id LONG, at TIMESTAMP").json("in").withWatermark("at", "10 minutes")

@ps.view
def marked():
    return seen()

@ps.view
def plain():
    return spark.readStream.schema("id LONG, at TIMESTAMP").json("in")

@ps.table
def joined():
    other = seen().select(F.col("id").alias("other"), F.col("at").alias("then"))
    return seen().join(other, F.expr("id = other AND then BETWEEN at AND at + INTERVAL 1 MINUTE"))

@ps.table
def twice():
    counts = seen().groupBy(F.window("at", "10 minutes")).count()
    return counts.groupBy(F.window(F.window_time("window"), "1 hour")).agg(F.sum("count").alias("n")).select("n")

@ps.table(output_mode="complete")
def complete():
    return seen().groupBy(F.window("at", "10 minutes")).count().select("count")

@ps.table
def with_clause():
    return spark.sql(
        "WITH rows AS (SELECT * FROM STREAM marked) "
        "SELECT window.end, count(*) AS n FROM rows GROUP BY window(at, '10 minutes')"
    )

@ps.table
def filtered():
    return seen().groupBy(F.window("at", "10 minutes"), "id").count().where("id > 1").select("count")

@ps.table(spark_conf={"pipelines.watermark.lateness": "true"})
def in_sql():
    return spark.sql(
        "SELECT window.end, count(*) AS n FROM STREAM plain WATERMARK at DELAY OF INTERVAL 5 MINUTES "
        "GROUP BY window(at, '10 minutes')"
    )
"""


def test_what_is_not_measured_says_so_by_name(project: PipelineProject) -> None:
    project.write(NOT_MEASURED)
    project.arrive("1", [{"id": 1, "at": "2026-01-01T10:00:00Z"}])
    assert project.run().errors == ()
    expected = {
        "joined": "it joins two streams",
        "twice": "it has several operators with state: aggregate, then aggregate",
        "complete": "it writes in complete mode",
        "with_clause": "its SQL has a WITH",
        "filtered": "predicates of the Filter after its aggregate",
    }
    for table, reason in expected.items():
        shown = CliRunner().invoke(app, ["watermark", table, str(project.directory)])
        assert shown.exit_code == 2
        assert "LATENESS_NOT_MEASURED" in shown.output
        assert f"The flow '{table}': {reason}" in " ".join(shown.output.split()), shown.output
    assert told(project, "in_sql"), "a WATERMARK of SQL is one like any other"
