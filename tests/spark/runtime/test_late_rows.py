"""Rows that come behind the watermark are in the table of late rows, each once, against rows sorted out in Python."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.oracle.tables import read_table
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import ExternalError
from penstock.events import Level, UpdateState, late_rows_of_event
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime import UpdateOutcome
from penstock.runtime.commands.late_reprocessing import reprocess_late_rows
from penstock.runtime.flows.late import late_rows
from penstock.runtime.project.workspace import say_nothing
from penstock.spark._jvm import jvm
from penstock.spark.late import late_rows as late_rows_of_spark
from penstock.spark.streams.writes import append_to_table

PIPELINE = """
def seen(folder="in"):
    rows = spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json(folder)
    return rows.withWatermark("at", "10 minutes")

@dlt.table
def windows():
    counts = seen().groupBy(F.window("at", "10 minutes"), "k").count()
    return counts.select(F.minute("window.start").alias("start"), "k", "count")

@dlt.table(table_properties={"delta.appendOnly": "false"})
def sliding():
    counts = seen().groupBy(F.window("at", "20 minutes", "10 minutes")).count()
    return counts.select("window.end", "count")

@ps.table(output_mode="update")
def updated():
    return seen().groupBy(F.window("at", "10 minutes")).count().select("window.start", "count")

@dlt.table
@dlt.expect_or_quarantine("known", "k <> 'b'")
def within():
    return seen().dropDuplicatesWithinWatermark(["id"])

@dlt.table
def sessions():
    return seen().groupBy(F.session_window("at", "5 minutes"), "k").count().select("session_window.end", "count")

@dlt.table
def chained():
    counts = seen().dropDuplicates(["id", "at"]).groupBy(F.window("at", "10 minutes")).count()
    return counts.select("window.start", "count")

@dlt.table
def joined():
    paid = seen("other").select("id", F.col("at").alias("paid_at"), F.lit(1).alias("k"))
    near = F.expr("o.id = p.id AND paid_at BETWEEN at - INTERVAL 5 MINUTES AND at + INTERVAL 5 MINUTES")
    return seen().alias("o").join(paid.alias("p"), near, "left_outer").select("o.id", "at", "paid_at")
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
DELAY = timedelta(minutes=10)
ROW = tuple[int, str, datetime]
_FILES: list[list[tuple[str, int]]] = [
    [("a", 1), ("a", 5)],
    [("a", 61), ("a", 2)],
    [("a", 90), ("a", 51), ("b", 41), ("a", 12), ("a", 52)],
    [("a", 91), ("a", 69), ("a", 71), ("a", 79), ("a", 81), ("a", 80), ("a", 3), ("b", 3)],
]
_BATCHES = [0, 1, None, 2, 3]
"""The file of each batch when two arrive before a first run: its last one has no rows, and moves the watermark."""


def rows_of(file: int) -> list[ROW]:
    return [(100 * file + n, k, START + timedelta(minutes=at)) for n, (k, at) in enumerate(_FILES[file])]


def arrive(project: PipelineProject, *files: int) -> None:
    for folder in ("in", "other"):
        for file in files:
            rows = [{"id": i, "k": k, "at": at.isoformat()} for i, k, at in rows_of(file)]
            project.arrive(str(file), rows, folder)
            os.utime(project.directory / folder / f"{file}.json", (1_767_000_000 + file,) * 2)


def dropped(batches: Iterable[int | None]) -> list[tuple[int, ROW, datetime]]:
    """The rows of all batches with the watermark that late ones are behind: that which the batch before had."""
    found: list[tuple[int, ROW, datetime]] = []
    newest: list[datetime] = []  # after each batch
    for number, file in enumerate(batches):
        before = newest[number - 2] if number >= 2 else datetime(1970, 1, 1, tzinfo=UTC)
        rows = [] if file is None else rows_of(file)
        found += [(number, row, before - DELAY) for row in rows]
        newest.append(max([*newest[-1:], *(at for _, _, at in rows)]))
    return found


def ends(at: datetime, length: int, slide: int) -> list[datetime]:
    first = at.replace(minute=at.minute - at.minute % slide, second=0)
    return [first + timedelta(minutes=length - step) for step in range(0, length, slide)]


def kept(project: PipelineProject, table: str, *columns: str) -> list[Any]:
    return sorted(tuple(row[column] for column in columns) for row in read_table(project.path(f"{table}__late")))


def told(project: PipelineProject, update: UpdateOutcome | None = None) -> dict[tuple[str, int], tuple[Any, ...]]:
    events = [(event, late_rows_of_event(event)) for event in project.events(update)]
    return {
        (str(event.origin.dataset_name), late.batch_id): (event.level, late.counted, late.kept, late.reason)
        for event, late in events
        if late is not None
    }


@pytest.mark.slow
def test_each_dropped_row_is_kept_once(project: PipelineProject) -> None:
    project.write(PIPELINE)
    arrive(project, 0, 1)
    first = project.run()
    assert (first.errors, told(project)) == ((), {}), "the watermark has not moved before the second file"
    assert not list((project.directory / ".penstock/tables/shop").glob("*__late"))
    arrive(project, 2, 3)
    assert project.run().errors == ()
    rows = [(batch, *row, mark) for batch, row, mark in dropped(_BATCHES)]

    by_end = sorted((batch, i, k, mark) for batch, i, k, at, mark in rows if ends(at, 10, 10)[0] <= mark)
    assert kept(project, "windows", "_late_batch_id", "id", "k", "_late_watermark") == by_end
    assert len({mark for _, _, _, mark in by_end}) == 1
    assert {batch for batch, _, _, _ in by_end} == {3, 4}
    one = next(row for row in read_table(project.path("windows__late")) if row["id"] == 202)
    assert one["at"] == one["_late_event_time"] == START + timedelta(minutes=41)
    assert one["window"]["end"] == START + timedelta(minutes=50)
    assert (one["_late_seconds"], one["_late_operator"], one["_late_flow"]) == (60.0, "aggregate", "windows")
    assert one["_late_source"]["file_path"].endswith("/in/2.json")
    assert one["_late_time"] > START
    assert kept(project, "updated", "_late_batch_id", "id") == [(batch, i) for batch, i, _, _ in by_end]

    by_ends = [(batch, i, end) for batch, i, _, at, mark in rows for end in ends(at, 20, 10) if end <= mark]
    sliding = read_table(project.path("sliding__late"))
    assert sorted((row["_late_batch_id"], row["id"], row["window"]["end"]) for row in sliding) == sorted(by_ends)
    assert set(Counter(i for _, i, _ in by_ends).values()) == {1, 2}, "late for one of two windows, or for both"

    by_time = sorted((batch, i) for batch, i, _, at, mark in rows if at <= mark)
    assert (3, 201) in by_time, "a row at the watermark is late"
    for table in ("within", "chained"):
        assert kept(project, table, "_late_batch_id", "id") == by_time, table
    by_session = [(batch, i) for batch, i, _, at, mark in rows if at + timedelta(minutes=5) <= mark]
    assert kept(project, "sessions", "_late_batch_id", "id") == sorted(by_session)

    joined = read_table(project.path("joined__late"))
    sides = Counter((row["_late_batch_id"], row["id"], row["_late_operator"].partition(", ")[2]) for row in joined)
    assert sides == Counter((batch, i, side) for batch, i in by_time for side in ("left side", "right side"))

    for (table, batch), (level, counted, number, reason) in told(project).items():
        assert (level, reason) == (Level.WARN, None), table
        found = sum(row["_late_batch_id"] == batch for row in read_table(project.path(f"{table[5:]}__late")))
        assert number == found >= counted, table
        if table[5:] in {"within", "chained", "joined"}:
            assert number == counted, "Spark counts these one by one"
    status = project_status(project.events()).dataset("shop.windows")
    assert status is not None
    assert status.late == len(by_end)
    in_time = project.rows("within", "id") + [row["id"] for row in read_table(project.path("within__quarantine"))]
    late_ones = [row["id"] for row in read_table(project.path("within__late"))]
    assert sorted(in_time + late_ones) == sorted(i for file in range(4) for i, _, _ in rows_of(file))


HOURS = """
@dlt.table
def windows():
    rows = spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
    return rows.withWatermark("at", "10 minutes").groupBy(F.window("at", "10 minutes")).count().select("count")
"""


def _die(project: PipelineProject, *, rows: bool, event: bool) -> None:
    """Leaves the disk as a process that died behind batch 4: before its late rows, its event, or both."""
    log = project.path("windows__late") / "_delta_log"
    if not rows:
        for file in (f"{2:020d}.json", f"{2:020d}.crc", f".{2:020d}.json.crc", f".{2:020d}.crc.crc"):
            (log / file).unlink(missing_ok=True)
    segment = sorted((project.directory / ".penstock/events").iterdir())[-1]
    lines = segment.read_text().splitlines()
    last = "batch 4 dropped" if event else "batch 4 wrote"
    cut = next(number for number, line in enumerate(lines) if last in json.loads(line)["message"])
    segment.write_text("".join(f"{line}\n" for line in lines[:cut]))
    jvm(project.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.mark.parametrize(
    "deaths",
    [
        # What is left of the rows, and of the event.
        pytest.param(((False, False), (True, True)), id="some"),
        pytest.param(((False, False), (False, True), (True, True)), id="all", marks=pytest.mark.slow),
    ],
)
def test_what_a_process_that_died_has_left_is_done_at_the_next_start(
    project: PipelineProject, deaths: tuple[tuple[bool, bool], ...]
) -> None:
    project.write(HOURS)
    arrive(project, 0, 1)
    assert project.run().errors == ()
    arrive(project, 2, 3)
    assert project.run().errors == ()
    whole = kept(project, "windows", "_late_batch_id", "id")
    counted, number = told(project)["shop.windows", 4][1:3]
    assert project.version("windows__late") == 2
    saved = project.directory / "saved"
    shutil.copytree(project.directory / ".penstock", saved)
    for rows, event in deaths:
        shutil.rmtree(project.directory / ".penstock")
        shutil.copytree(saved, project.directory / ".penstock")
        _die(project, rows=rows, event=event)
        assert (kept(project, "windows", "_late_batch_id", "id") == whole) is rows
        again = project.run()
        assert again.errors == ()
        assert kept(project, "windows", "_late_batch_id", "id") == whole, (rows, event)
        assert project.version("windows__late") == 2, "once"
        found = told(project, again)
        assert found["shop.windows", 4] == (Level.WARN, counted if event else None, number, None)
        assert {batch for _, batch in found} <= {3, 4, 5}, "the log may have lost the events of its neighbours too"
    assert told(project, project.run()) == {}, "nothing is left to do"


def test_a_write_that_fails_is_tried_again_and_never_fails_the_flow(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([True, False, *[True] * 9])

    def failing(*arguments: Any, **options: Any) -> None:
        if next(failures):
            raise OSError("the disk is away")
        append_to_table(*arguments, **options)

    monkeypatch.setattr(late_rows_of_spark, "append_to_table", failing)
    monkeypatch.setattr(late_rows, "_PAUSE_SECONDS", 0.0)
    project.write(HOURS)
    arrive(project, 0, 1)
    project.run()
    arrive(project, 2, 3)
    assert project.run().state is UpdateState.COMPLETED
    events = told(project)
    assert events["shop.windows", 3][2] == len(kept(project, "windows", "id"))
    assert events["shop.windows", 4][2] is None
    assert "the disk is away" in events["shop.windows", 4][3]
    assert told(project, project.run()) == {}, "it is not tried for ever"


def test_a_storage_that_does_not_answer_has_the_flow_tried_again(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, failed = late_rows.LateRowRecorder.keep, list[bool]()

    def failing(of_flow: late_rows.LateRowRecorder, *, until: float | None = None) -> None:
        if not failed and project.spark.streams.active:
            failed.append(True)
            raise ExternalError("STORAGE_FAILED", detail="it does not answer")
        keep(of_flow, until=until)

    monkeypatch.setattr(late_rows.LateRowRecorder, "keep", failing)
    project.write(HOURS)
    arrive(project, 0, 1, 2, 3)
    outcome = project.run()
    assert outcome.errors == ()
    assert failed, "while the query was running"
    assert "RETRYING" in project.statuses(outcome, "windows")
    assert project.spark.streams.active == []


def test_what_cannot_be_kept_is_counted_and_said(project: PipelineProject) -> None:
    project.write(
        """
        def seen():
            rows = spark.readStream.schema("id LONG, k STRING, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
            return rows.withWatermark("at", "10 minutes")

        ps.create_sink("files", "json", {"path": "out"})

        @dlt.append_flow(target="files")
        def into_files():
            return seen().dropDuplicatesWithinWatermark(["id"])

        @dlt.table
        def both():
            return seen().dropDuplicatesWithinWatermark(["id"]).union(seen().dropDuplicatesWithinWatermark(["k"]))

        @dlt.table
        def plain():
            return seen().dropDuplicatesWithinWatermark(["id"])

        @dlt.table
        def plain__late():
            return spark.readStream.schema("id LONG").json("in")
        """
    )
    arrive(project, 0, 1)
    assert project.run().errors == ()
    arrive(project, 3)
    assert project.run().errors == ()
    reasons = {table: (counted, kept, reason) for (table, _), (_, counted, kept, reason) in told(project).items()}
    assert reasons == {
        "shop.files": (2, None, "a sink has no table beside it"),
        "shop.both": (
            4,
            None,
            "several stateful operators are siblings: deduplicate within watermark, deduplicate within watermark",
        ),
        "shop.plain": (2, None, "shop.plain__late is another table"),
    }
    status = project_status(project.events()).dataset("shop.both")
    assert status is not None
    assert status.late == 4


@pytest.mark.slow  # as the pages are
def test_the_pipeline_of_the_page(project: PipelineProject) -> None:
    page = ROOT / "docs/how-to/late-rows.md"
    project.write("\n".join(block.text for block in blocks(page) if "pipeline" in block.marks))
    for number, times in enumerate((["12:00", "12:30"], ["15:00"], ["12:40", "14:55"])):
        rows = [{"shop": "a", "amount": 1.0, "ordered_at": f"2026-01-01T{time}:00Z"} for time in times]
        project.arrive(str(number), rows, folder="orders")
        assert project.run().errors == ()
    shown = CliRunner().invoke(app, ["late", "show", "revenue", str(project.directory)], env={"COLUMNS": "250"})
    assert shown.exit_code == 0, shown.output
    assert "1 late row, up to 6,600 s behind the watermark" in shown.stderr
    assert "2.json" in shown.stdout
    future = [{"shop": "a", "amount": 1.0, "ordered_at": time} for time in ("2200-01-01T00:00:00Z", None)]
    project.arrive("3", [*future, {"shop": "a", "amount": 1.0, "ordered_at": "2026-01-01T14:56:00Z"}], folder="orders")
    assert project.run(full_refresh=("revenue",)).errors == ()
    assert kept(project, "revenue", "shop") == [], "emptied, and read in one batch, which has no watermark before it"
    project.arrive("4", [{"shop": "a", "amount": 1.0, "ordered_at": "2026-01-01T15:10:00Z"}], folder="orders")
    assert project.run().errors == ()
    assert len(read_table(project.path("orders__quarantine"))) == 2
    assert kept(project, "revenue", "shop") == [("a",)], "the year 2200 has moved its watermark"
    assert kept(project, "hourly_orders", "ordered_at") == [(datetime(2026, 1, 1, 12, 40, tzinfo=UTC),)]
    reprocess_late_rows(project.config, "hourly_orders", progress=say_nothing, spark=project.spark)
    assert kept(project, "hourly_orders", "ordered_at") == []
    hours = {row["window"]["start"].hour: row["count"] for row in read_table(project.path("hourly_orders"))}
    assert hours[12] == 3, "the one at 12:40 is among them"
