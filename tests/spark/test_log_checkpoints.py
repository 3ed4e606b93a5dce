"""Checkpoints of a table's log are written beside its stream, hold what Delta needs, and are not begun for nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.processes import wait_until
from tests.spark.pipeline_project import PipelineProject

from penstock.config.values.trigger import Trigger, TriggerKind
from penstock.spark import _jvm
from penstock.spark.accelerators import log_checkpoints
from penstock.spark.accelerators.accelerator import CHECKPOINT_INTERVAL
from penstock.spark.accelerators.log_checkpoints import BESIDE, INTERVAL, checkpoint_if_due, with_checkpoints_beside
from penstock.spark.streams.writes import DeltaWriter, start_stream

pytestmark = pytest.mark.accelerated

_MONTHS_AGO = time.time() - 100 * 24 * 3600


class _Table:
    """A table that a stream fills from files of one row, a batch each."""

    def __init__(self, spark: SparkSession, folder: Path, **properties: str) -> None:
        self.spark, self.folder, self.path = spark, folder, str(folder / "table")
        self.log = folder / "table/_delta_log"
        self._files = 0
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
        spark.sql(f"CREATE TABLE delta.`{self.path}` (id LONG) USING delta TBLPROPERTIES ({listed})")
        (folder / "in").mkdir()

    def stream(self, batches: int = 1) -> Any:
        """Lets a query run that many batches and returns its last progress."""
        for _ in range(batches):
            (self.folder / f"in/{self._files}.json").write_text(json.dumps({"id": self._files}))
            os.utime(self.folder / f"in/{self._files}.json", (self._files, self._files))
            self._files += 1
        rows = self.spark.readStream.name("files").schema("id LONG").option("maxFilesPerTrigger", 1)
        query = start_stream(
            rows.json(str(self.folder / "in")),
            DeltaWriter(self.path, complete=False),
            query_name="beside",
            checkpoint=str(self.folder / "checkpoint"),
            trigger=Trigger(TriggerKind.AVAILABLE_NOW),
        )
        query.awaitTermination()
        return query.lastProgress

    def others_commit(self, times: int) -> None:
        """Somebody else adds commits that change nothing."""
        newest = max(int(each.stem) for each in self.log.glob("*.json"))
        for version in range(newest + 1, newest + 1 + times):
            (self.log / f"{version:020}.json").write_text('{"commitInfo": {"operation": "NOTHING"}}\n')

    @property
    def checkpoint(self) -> int | None:
        """The version of the newest checkpoint that Delta's readers know of."""
        last = self.log / "_last_checkpoint"
        return json.loads(last.read_text())["version"] if last.exists() else None

    def snapshot(self, *, fresh: bool = False) -> Any:
        log = _jvm.jvm(self.spark).org.apache.spark.sql.delta.DeltaLog
        if fresh:
            log.clearCache()
        return log.forTable(_jvm.java_session(self.spark), self.path).unsafeVolatileSnapshot()

    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.read.format("delta").load(self.path).collect())


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Callable[..., _Table]:
    return lambda **properties: _Table(spark, tmp_path, **properties)


def _threads(spark: SparkSession) -> list[str]:
    found = _jvm.jvm(spark).java.lang.Thread.getAllStackTraces().keySet().toArray()
    return [each.getName() for each in found]


def test_a_due_checkpoint_is_written_beside_the_stream(table: Callable[..., _Table]) -> None:
    filled = table(**{INTERVAL: BESIDE})
    filled.stream()
    assert "log-checkpoints" not in _threads(filled.spark), "no thread for a table with few commits"
    filled.others_commit(50)
    for commit in filled.log.glob("*.json"):
        os.utime(commit, (_MONTHS_AGO, _MONTHS_AGO + int(commit.stem)))
    query = filled.stream()
    wait_until(lambda: filled.checkpoint is not None, timeout=20, what="a checkpoint")
    assert filled.checkpoint == 51, "one before the newest commit, whose snapshot is the stream's"

    def commits() -> list[int]:
        return sorted(int(each.stem) for each in filled.log.glob("*.json"))

    wait_until(lambda: commits() == [51, 52], timeout=20, what="the end of what has expired of the log")

    # A later run finds rows and transactions through the checkpoint: a batch of before is not written again.
    assert filled.snapshot(fresh=True).transactions().apply(query["id"]) == 1
    (filled.folder / "checkpoint/commits/1").unlink()
    (filled.folder / "checkpoint/commits/.1.crc").unlink(missing_ok=True)
    filled.stream()
    assert filled.ids() == [0, 1, 2]


def test_the_first_batch_of_a_process_waits_for_a_due_checkpoint(table: Callable[..., _Table]) -> None:
    filled = table(**{INTERVAL: BESIDE})
    filled.others_commit(48)
    filled.stream()
    assert filled.checkpoint == 48
    assert not checkpoint_if_due(filled.spark, filled.path), "the next is due fifty commits later"


def test_a_table_with_an_interval_of_its_own_is_left_to_delta(table: Callable[..., _Table]) -> None:
    filled = table(**{INTERVAL: "100"})
    filled.others_commit(98)
    filled.stream()
    assert filled.checkpoint is None, "not one of ours"
    assert not checkpoint_if_due(filled.spark, filled.path)
    filled.stream()
    assert filled.checkpoint == 100


def test_after_a_checkpoint_delta_still_knows_the_transactions(table: Callable[..., _Table]) -> None:
    filled = table(**{INTERVAL: "1"})
    filled.stream()
    assert filled.snapshot().logSegment().checkpointProvider().version() == 1, "the next batch begins with this one"
    filled.spark.sparkContext.setJobGroup("known after", "transactions")
    filled.snapshot().transactions()
    assert not filled.spark.sparkContext.statusTracker().getJobIdsForGroup("known after")
    filled.spark.sparkContext.setJobGroup("", "")


def test_only_new_streaming_tables_without_an_interval_get_ours(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        def plain():
            return spark.readStream.schema("id LONG").json("in")

        @dlt.table(table_properties={"delta.checkpointInterval": "7"})
        def given():
            return spark.readStream.schema("id LONG").json("in")

        @dlt.table
        def computed():
            return dlt.read("plain")
        """
    )
    project.arrive("1", [{"id": 1}])
    project.run()
    found = {
        name: _interval(project.directory / f".penstock/tables/shop/{name}") for name in ("plain", "given", "computed")
    }
    assert found == {"plain": BESIDE, "given": "7", "computed": "50"}


def _interval(table: Path) -> str:
    for line in (table / f"_delta_log/{0:020}.json").read_text().splitlines():
        if (metadata := json.loads(line).get("metaData")) is not None:
            return str(metadata["configuration"][INTERVAL])
    raise AssertionError(table)


def test_the_interval_of_the_settings_is_kept(spark: SparkSession) -> None:
    other = spark.newSession()
    assert with_checkpoints_beside(other, {"a": "b"}) == {"a": "b", INTERVAL: BESIDE}
    assert with_checkpoints_beside(other, {"DELTA.checkpointinterval": "5"}) == {"DELTA.checkpointinterval": "5"}
    other.conf.set(CHECKPOINT_INTERVAL, "20")
    assert with_checkpoints_beside(other, {"a": "b"}) == {"a": "b"}


def test_without_the_java_classes_delta_writes_checkpoints(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_checkpoints, "DELTA_SINK", "no.such.sink")
    assert with_checkpoints_beside(spark, {}) == {}
    monkeypatch.setattr(log_checkpoints, "jvm", lambda spark: _jvm.jvm(spark).nowhere)
    assert not checkpoint_if_due(spark, str(tmp_path / "nothing"))
