"""A process dies beside a batch that moved the watermark; the next start closes the windows that this closes.

The oracle is the run without a crash: tables and checkpoints of a run that ended are taken back to how a crash would
have left them, and run again.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.runtime import UpdateOutcome
from penstock.spark._jvm import jvm

PIPELINE = """
def seen():
    return spark.readStream.schema("id LONG, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")

def windows():
    counts = seen().withWatermark("at", "1 minute").groupBy(F.window("at", "5 minutes")).count()
    return counts.select(F.minute("window.start").alias("start"), "count")

@dlt.table
def plain():
    return windows()

@dlt.table
@dlt.expect_or_quarantine("more than one", "count > 1")
def checked():
    return windows()

@dlt.table
def once_each():
    return seen().withWatermark("at", "1 minute").dropDuplicatesWithinWatermark(["id"])

@ps.table(spark_conf={"spark.sql.streaming.noDataMicroBatches.enabled": "false"})
def unhurried():
    return windows()

ps.create_sink("lake", "delta", {"path": "out/lake"})
ps.create_sink("files", "json", {"path": "out/files"})

@dlt.append_flow(target="lake")
def into_lake():
    return windows()

@dlt.append_flow(target="files")
def into_files():
    return windows()
"""
CHECKPOINTS = {
    "plain": "plain/plain",
    "checked": "checked/checked",
    "once_each": "once_each/once_each",
    "unhurried": "unhurried/unhurried",
    "lake": "lake/into_lake",
    "files": "files/into_files",
}


def _arrive(project: PipelineProject, name: str, *minutes: int) -> None:
    project.arrive(name, [{"id": minute, "at": f"2026-01-01T00:{minute:02d}:00Z"} for minute in minutes])


class Disk:
    """The tables, sinks and checkpoints of a run that ended, which a crash would have left otherwise."""

    def __init__(self, project: PipelineProject) -> None:
        self._project = project
        self._places = {name: project.directory / name for name in (".penstock", "out")}
        for name, place in self._places.items():
            shutil.copytree(place, project.directory / f"saved{name}")

    def restore(self) -> None:
        for name, place in self._places.items():
            shutil.rmtree(place)
            shutil.copytree(self._project.directory / f"saved{name}", place)
        jvm(self._project.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()

    def never_begin(self, batch: int) -> None:
        """As if no process had begun the batch: its plan, its state, its rows and its end are not there."""
        for target, folder in CHECKPOINTS.items():
            checkpoint = self._checkpoint(folder)
            _delete(checkpoint / f"offsets/{batch}", checkpoint / f"commits/{batch}")
            _delete(*(file for file in (checkpoint / "state").rglob(f"{batch + 1}*.*") if file.suffix != ".crc"))
            _delete(self._places["out"] / f"files/_spark_metadata/{batch}")
            if target != "files":
                self._forget_commit(target, batch)
        self._forget_commit("checked__quarantine", batch)

    def never_end(self, batch: int) -> None:
        """As if a process had died when it had committed the batch's rows, before the checkpoint knew it."""
        for folder in CHECKPOINTS.values():
            _delete(self._checkpoint(folder) / f"commits/{batch}")

    def plan(self, target: str, batch: int) -> list[Any]:
        """Returns what is planned for a batch, without its time, and without the entry that a start may add."""
        version, metadata, *offsets = (
            (self._checkpoint(CHECKPOINTS[target]) / f"offsets/{batch}").read_text().split("\n")
        )
        settings = {key: value for key, value in json.loads(metadata).items() if key != "batchTimestampMs"}
        settings["conf"].pop("spark.sql.shuffle.partitions", None)
        return [version, settings, *offsets]

    def _checkpoint(self, folder: str) -> Path:
        return self._places[".penstock"] / "checkpoints/shop" / folder / "0"

    def _forget_commit(self, target: str, batch: int) -> None:
        table = self._places["out"] / "lake" if target == "lake" else self._project.path(target)
        newest = sorted((table / "_delta_log").glob("*.json"))[-1]
        if any(json.loads(line).get("txn", {}).get("version") == batch for line in newest.read_text().splitlines()):
            _delete(newest, newest.with_suffix(".crc"))


def _delete(*files: Path) -> None:
    for file in files:
        file.unlink(missing_ok=True)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _content(project: PipelineProject) -> dict[str, list[Any]]:
    columns = ("start", "count")
    lake = sorted(tuple(row[column] for column in columns) for row in read_table(project.directory / "out/lake"))
    files = project.spark.read.json(str(project.directory / "out/files")).collect()
    tables = ("plain", "checked", "unhurried", "checked__quarantine")
    return {
        "lake": lake,
        "files": sorted(tuple(row[column] for column in columns) for row in files),
        "once_each": project.rows("once_each", "id"),
        **{table: project.rows(table, *columns) for table in tables},
    }


def _starts_again(project: PipelineProject, update: UpdateOutcome, words: str) -> set[str]:
    found = [event for event in project.events(update) if words in event.message]
    return {str(event.origin.dataset_name).removeprefix("shop.") for event in found}


def _between_the_batch_and_the_one_without_rows(disk: Disk) -> None:
    disk.never_begin(2)


def _between_rows_and_checkpoint(disk: Disk) -> None:
    disk.never_begin(2)
    disk.never_end(1)


def _with_rows_left(disk: Disk) -> None:
    disk.never_begin(2)
    disk.never_begin(1)


def _run_until(project: PipelineProject, whole: dict[str, list[Any]]) -> UpdateOutcome:
    """Runs continuously until the tables are whole, or a minute has passed."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="1 second", stop=stop)
        deadline = time.monotonic() + 60
        while _content(project) != whole and time.monotonic() < deadline and not running.done():
            time.sleep(0.2)
        stop.set()
        return running.result(60)


@pytest.mark.slow
def test_windows_are_those_of_a_run_without_a_crash(project: PipelineProject) -> None:
    project.write(PIPELINE)
    _arrive(project, "1", 1, 2, 3, 7, 12, 17, 17)
    _arrive(project, "2", 14, 18, 24)  # the first file's watermark is past 14, but holds from the next batch on
    assert project.run().errors == ()
    whole = _content(project)
    assert whole["plain"] == [(0, 3), (5, 1), (10, 2), (15, 3)]
    assert whole["unhurried"] == [(0, 3), (5, 1), (10, 2)], "it waits for rows after the second file"
    assert (whole["checked"], whole["checked__quarantine"]) == ([(0, 3), (10, 2), (15, 3)], [(5, 1)])
    assert whole["once_each"] == [1, 2, 3, 7, 12, 14, 17, 18, 24]
    disk = Disk(project)
    planned = {target: disk.plan(target, 2) for target in CHECKPOINTS.keys() - {"unhurried"}}
    crash: Callable[[Disk], None]
    for crash, computed_again, without_rows in (
        (_between_rows_and_checkpoint, CHECKPOINTS.keys() - {"checked"}, set()),
        (_with_rows_left, set(), set()),
        (_between_the_batch_and_the_one_without_rows, set(), CHECKPOINTS.keys() - {"unhurried"}),
    ):
        disk.restore()
        crash(disk)
        assert _content(project) != whole, "the crash took a window away"
        again = project.run()
        assert (again.errors, _content(project)) == ((), whole), crash.__name__
        assert {target: disk.plan(target, 2) for target in planned} == planned, "as Spark has planned it"
        assert _starts_again(project, again, "computes batch") == computed_again
        assert _starts_again(project, again, "has no rows") == without_rows
    version = project.version("plain")
    assert project.run().errors == ()
    assert (_content(project), project.version("plain")) == (whole, version), "it is done once"

    disk.restore()
    _between_the_batch_and_the_one_without_rows(disk)
    assert (_run_until(project, whole).errors, _content(project)) == ((), whole), "before new rows come"
