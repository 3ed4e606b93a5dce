"""`transformWithState` with each kind of timer, in triggered runs: the pipeline of docs/how-to/custom-state.md."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.testing.crash import forget_newest_commits, newest_commit

_START = datetime(2026, 1, 1, tzinfo=UTC)
_PAGE: Path = ROOT / "docs/how-to/custom-state.md"


def _reading(sensor: str, minute: int) -> dict[str, str]:
    return {"sensor": sensor, "time": (_START + timedelta(minutes=minute)).isoformat()}


def _at(minute: int) -> datetime:
    return _START + timedelta(minutes=minute)


@pytest.mark.timeout(300)
def test_silences_survive_a_restart_and_a_crash_and_a_late_row_is_kept(project: PipelineProject) -> None:
    silences = next(block.text for block in blocks(_PAGE) if block.marks)
    silences = silences.replace("@dlt.table", "@dlt.table(spark_conf={'spark.sql.shuffle.partitions': '1'})")
    project.write(silences.replace(".json(", ".option('maxFilesPerTrigger', 1).json("))
    project.arrive("1", [_reading("a", 0), _reading("b", 5), _reading("a", 20)])
    project.arrive("2", [_reading("a", 30), _reading("c", 105)])
    assert project.run().errors == ()
    silent = [("a", 3, _at(30)), ("b", 1, _at(5))]
    assert project.rows("silent_sensors", "sensor", "readings", "silent_since") == silent
    # As after a crash between the table's commit and Spark's: the batch that found the silences runs again.
    checkpoint = str(project.directory / ".penstock/checkpoints/shop/silent_sensors/silent_sensors/0")
    assert newest_commit(checkpoint) == 2
    forget_newest_commits({checkpoint: None})
    project.arrive("3", [_reading("a", 3), _reading("c", 106), _reading("d", 180)])
    assert project.run().errors == ()
    silent.append(("c", 2, _at(106)))
    assert project.rows("silent_sensors", "sensor", "readings", "silent_since") == silent
    assert project.rows("silent_sensors__late", "sensor", "_late_operator") == [("a", "transformWithState")]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_timers_values_and_first_values_of_the_page(project: PipelineProject) -> None:
    project.write("\n".join(block.text for block in blocks(_PAGE) if block.marks))
    project.arrive("1", [_reading("a", 0), _reading("b", 5), _reading("a", 20)])
    assert project.run().errors == ()
    assert project.rows("silent_sensors", "sensor") == []
    assert project.rows("announced", "sensor", "time") == [("a", _at(0)), ("b", _at(5))]
    assert project.rows("totals", "sensor", "n") == [("a", 1002), ("b", 1)]
    # The watermark comes to 95 minutes: `a` and `b` have been silent for an hour by then, `c` has not.
    project.arrive("2", [_reading("a", 30), _reading("c", 105)])
    assert project.run().errors == ()
    assert project.rows("silent_sensors", "sensor", "readings", "silent_since") == [
        ("a", 3, _at(30)),
        ("b", 1, _at(5)),
    ]
    assert project.rows("announced", "sensor", "time") == [("a", _at(0)), ("b", _at(5)), ("c", _at(105))]
    assert project.rows("totals", "sensor", "n") == [("a", 1002), ("a", 1003), ("b", 1), ("c", 1)]
    # A late row: timers of event time are not for it, other operators take it. The flow that goes by the clock ends.
    project.arrive("3", [_reading("a", 3)])
    assert project.run().errors == ()
    assert len(project.rows("silent_sensors", "sensor")) == 2
    assert project.rows("silent_sensors__late", "sensor", "_late_operator") == [("a", "transformWithState")]
    assert not project.path("announced__late").exists()
    assert len(project.rows("announced", "sensor")) == 3
    assert ("a", 1004) in project.rows("totals", "sensor", "n")


BY_THE_CLOCK = """
import pandas as pd
from pyspark.sql.streaming import StatefulProcessor

class Later(StatefulProcessor):
    def init(self, handle):
        self.handle = handle
        self.rows = handle.getValueState("rows", "n LONG")

    def handleInputRows(self, key, rows, timerValues):
        n = (self.rows.get()[0] if self.rows.exists() else 0) + sum(len(each) for each in rows)
        self.rows.update((n,))
        if not list(self.handle.listTimers()):
            self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + {milliseconds})
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield pd.DataFrame({{"sensor": [key[0]], "n": [self.rows.get()[0]]}})
        self.rows.clear()

@dlt.table
def bronze():
    return spark.readStream.schema("sensor STRING").option("maxFilesPerTrigger", 1).json("in")

@dlt.table
def later():
    by_sensor = spark.readStream.table("bronze").groupBy("sensor")
    return by_sensor.transformWithStateInPandas(Later(), "sensor STRING, n LONG", "Append", "ProcessingTime")
"""


@pytest.mark.timeout(300)
def test_a_triggered_run_ends_after_the_timers_that_are_due(project: PipelineProject) -> None:
    project.write(BY_THE_CLOCK.format(milliseconds=1))
    for number, sensors in enumerate(("aab", "", "ac"), start=1):
        project.arrive(str(number), [{"sensor": each} for each in sensors])
    assert project.run().errors == ()
    assert sum(project.rows("later", "n")) == 5
    assert {*project.rows("later", "sensor")} == {*"abc"}
    project.arrive("4", [{"sensor": "d"}])
    assert project.run().errors == ()
    assert sum(project.rows("later", "n")) == 6


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_timer_that_is_due_later_fires_in_a_later_run_without_new_rows(project: PipelineProject) -> None:
    project.write(BY_THE_CLOCK.format(milliseconds=30_000))
    project.arrive("1", [{"sensor": "a"}])
    assert project.run().errors == ()
    assert project.rows("later", "n") == []
    time.sleep(30)  # Spark compares timers with the clock of its machine
    assert project.run().errors == ()
    assert project.rows("later", "n") == [1]
