"""A batch runs again beside its table: the same rows with the same code, the difference otherwise, nothing changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.care.checkpoints.replaying import plan_replay
from penstock.cli.commands.checkpoints import replay_batch as command
from penstock.cli.commands.checkpoints.checkpoint import open_inventory
from penstock.cli.main import app
from penstock.errors import PenstockError
from penstock.events import Event
from penstock.events.flows.progress import batch_progress_of
from penstock.runtime import UpdateOutcome
from penstock.runtime.commands import batch_replay
from penstock.runtime.commands.batch_replay import ReplayedBatch, replay_batch
from penstock.runtime.project.workspace import say_nothing
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.one_batch import repeatable_batches

CODE = """
def arrived():
    schema = "id LONG, n LONG, at TIMESTAMP"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json("in")

@dp.table
def orders():
    return arrived().select("id", (F.col("n") % 3).alias("n"), "at", F.current_timestamp().alias("seen"))

@dp.table
@ps.expect_or_quarantine("small", "n < 10")
@ps.expect_unique(["id"], action="quarantine")
def checked():
    return arrived()

@dp.table
def hours():
    timed = spark.readStream.option("maxFilesPerTrigger", 1).table("orders").withWatermark("at", "1 hour")
    return timed.groupBy(F.window("at", "1 hour").alias("hour")).count().select("hour.start", "count")

@dp.table
def totals():
    return arrived().groupBy("id").agg(F.sum("n").alias("n"))
"""


def arrive(project: PipelineProject, *numbers: int) -> None:
    """Five rows a file, an hour later each time; two of their ids are those of the file before."""
    for number in numbers:
        ids = range(3 * number, 3 * number + 5)
        project.arrive(str(number), [{"id": i, "n": i + 1, "at": f"2026-01-01T{number:02d}:30:00Z"} for i in ids])
        listed = 1_767_000_000 + number  # the order in which files are read
        os.utime(project.directory / f"in/{number}.json", (listed, listed))


def last(project: PipelineProject, flow: str) -> int:
    return repeatable_batches(checkpoint(project, flow))[-1]


def checkpoint(project: PipelineProject, flow: str) -> CheckpointFolder:
    return CheckpointFolder.open(str(project.directory / f".penstock/checkpoints/shop/{flow}/{flow}/0"))


def replay(project: PipelineProject, table: str, batch: int, flow: str | None = None, **more: Any) -> ReplayedBatch:
    config = project.config
    recorded = plan_replay(open_inventory(config), table, batch, flow=flow, default_schema="shop")
    return replay_batch(config, recorded, progress=say_nothing, spark=project.spark, **more)


def contents(project: PipelineProject) -> dict[str, str]:
    """A digest of each file of the storage, and of the sources."""
    files = [each for each in project.directory.rglob("*") if each.is_file() and each.suffix != ".py"]
    return {str(each.relative_to(project.directory)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def refused(action: Callable[[], object]) -> PenstockError:
    with pytest.raises(PenstockError) as caught:
        action()
    return caught.value


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PipelineProject:
    """Three batches of every flow, done once for all tests that only read them."""
    project = PipelineProject(tmp_path_factory.mktemp("ran"), spark)
    project.write(CODE)
    arrive(project, 0, 1, 2)
    assert project.run().errors == ()
    return project


@pytest.fixture
def finished(ran: PipelineProject) -> PipelineProject:
    """The same, whatever code the last test has tried."""
    ran.write(CODE)
    return ran


def test_the_same_code_gives_the_same_rows_and_changes_nothing(finished: PipelineProject) -> None:
    before = contents(finished)
    expected = {
        ("orders", 1): 5,
        ("checked", 2): 1,  # two are, and two of the other three rows go into quarantine
        ("totals", 1): 8,
    }
    for (table, batch), rows in expected.items():
        found = replay(finished, table, batch).difference
        assert (table, batch, found.equal, found.rows) == (table, batch, rows, ())
        assert found.same
    closing = replay(finished, "hours", last(finished, "hours")).difference
    assert closing.same, "the last batch of it reads nothing"
    assert closing.equal, "and closes a window"
    assert contents(finished) == before


def test_rows_that_no_longer_go_into_quarantine(finished: PipelineProject) -> None:
    finished.write(CODE.replace("n < 10", "n < 100"))
    found = replay(finished, "checked", 2).difference
    assert (found.equal, found.only_left, found.only_right) == (1, 2, 0), "two ids are in the table as it was then"


@pytest.mark.slow
def test_the_code_of_another_folder_on_the_data_of_this_one(finished: PipelineProject, tmp_path: Path) -> None:
    left_over = finished.directory / ".penstock/scratch/orders-batch-1-00000000"
    left_over.mkdir(parents=True)
    holder = {"pid": 1, "host": "gone", "started": "2020-01-01T00:00:00Z", "heartbeat": "2020-01-01T00:00:00Z"}
    (left_over / "lock.json").write_text(json.dumps({**holder, "token": "t", "machine": "gone", "birth": None}))
    other = PipelineProject(tmp_path, finished.spark)
    other.write(CODE.replace("% 3", "% 3 + 10"))
    config = finished.config
    recorded = plan_replay(open_inventory(config), "orders", 1, flow=None, default_schema="shop")
    tried = replace(other.config, storage=config.storage)
    done = replay_batch(
        tried, recorded, progress=say_nothing, spark=finished.spark, data=config.directory, keep=True, limit=3
    )
    assert (done.difference.only_left, done.difference.only_right, len(done.difference.rows)) == (5, 5, 3)
    assert done.kept is not None
    assert [Path(done.kept).parent] == list(left_over.parent.iterdir()), "what a dead process has left is gone"
    assert min(row["n"] for row in finished.spark.read.format("delta").load(done.kept).collect()) == 10
    shutil.rmtree(left_over.parent)


@pytest.mark.slow
def test_it_works_beside_a_run(finished: PipelineProject) -> None:
    stop, done_a_batch = threading.Event(), threading.Event()
    outcomes: list[UpdateOutcome] = []

    def listen(event: Event) -> None:
        if event.origin.flow_name == "totals" and batch_progress_of(event) is not None:
            done_a_batch.set()

    def keep_running() -> None:
        outcomes.append(finished.run(trigger="100 milliseconds", stop=stop, on_event=listen))

    arrive(finished, 4)
    thread = threading.Thread(target=keep_running)
    thread.start()
    try:
        assert done_a_batch.wait(200)
        assert replay(finished, "totals", 1).difference.same
        assert outcomes == [], "the run works on"
    finally:
        stop.set()
        thread.join()
    assert [(outcome.state.value, outcome.errors) for outcome in outcomes] == [("CANCELED", ())]


def test_what_cannot_be_run_again_is_said(finished: PipelineProject) -> None:
    missing = refused(partial(replay, finished, "orders", 99))
    newest = last(finished, "orders")
    assert (missing.condition, missing.exit_code) == ("REPLAY_BATCH_NOT_FOUND", 3)
    assert missing.facts["batches"] == f"0 to {newest}"
    assert f"penstock replay shop.orders --batch {newest}" in missing.fix
    with gone(finished.directory / "in/1.json"):
        lost = refused(partial(replay, finished, "orders", 1))
    assert (lost.condition, "1.json" in lost.facts["lost"]) == ("REPLAY_SOURCE_LOST", True)
    with gone(finished.directory / ".penstock/checkpoints/shop/totals/totals/0/state/0/0"):
        stateless = refused(partial(replay, finished, "totals", 2))
    assert (stateless.condition, "state" in stateless.facts["reason"]) == ("REPLAY_NOT_POSSIBLE", True)
    finished.write(CODE.replace("def orders", "def renamed").replace('table("orders")', 'table("renamed")'))
    assert "does not declare" in refused(partial(replay, finished, "orders", 1)).facts["reason"]


@contextmanager
def gone(place: Path) -> Iterator[None]:
    place.rename(place.with_suffix(".gone"))
    try:
        yield
    finally:
        place.with_suffix(".gone").rename(place)


@pytest.mark.slow
def test_one_of_several_flows_has_to_be_named(project: PipelineProject) -> None:
    project.write("""
        dp.create_streaming_table("both")

        def flow(name, schema="id LONG"):
            @dp.append_flow(target="both", name=name)
            def rows():
                return spark.readStream.schema(schema).json(name)

        flow("left")
        flow("right")
        """)
    project.arrive("1", [{"id": 1}], folder="left")
    project.arrive("1", [{"id": 2}, {"id": 3}], folder="right")
    assert project.run().errors == ()
    unclear = refused(partial(replay, project, "both", 0))
    assert (unclear.condition, unclear.facts["flows"]) == ("FLOW_NOT_CHOSEN", "left, right")
    assert replay(project, "both", 0, flow="right").difference.equal == 2


def test_other_code_shows_the_rows_that_come_out_otherwise_and_the_command_ends_with_1(
    finished: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[ReplayedBatch] = []

    def noting(*arguments: Any, **options: Any) -> ReplayedBatch:
        replayed.append(replay_batch(*arguments, **options, spark=finished.spark))
        return replayed[-1]

    monkeypatch.setattr(command, "enter", lambda config, data: None)
    monkeypatch.setattr(batch_replay, "replay_batch", noting)
    finished.write(CODE.replace("% 3", "% 3 + F.when(F.col('id') == 5, 9).otherwise(0)"))
    done = CliRunner().invoke(app, ["replay", "orders", str(finished.directory), "--batch", "1"])
    [found] = [each.difference for each in replayed]
    assert (found.equal, found.only_left, found.only_right, found.same) == (4, 1, 1, False)
    assert found.columns == ("id", "n", "at", "seen")
    assert [(row.in_left, row.times, row.values[:2]) for row in found.rows] == [(False, 1, (5, 0)), (True, 1, (5, 9))]
    assert (done.exit_code, "4 equal, 1 only in the replay, 1 only in the table" in done.stdout) == (1, True)
    assert [line.split()[:4] for line in done.stdout.splitlines() if " 5 " in line] == [
        ["table", "1", "5", "0"],
        ["replay", "1", "5", "9"],
    ]
