"""The examples of docs/how-to/custom-state.md in any batches, with a restart and a crash, and by a set clock."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.repo.documents import ROOT, blocks

from penstock import testing
from penstock.testing import PipelineUnderTest

START = datetime(2026, 1, 1, tzinfo=UTC)
QUICK = {"spark.sql.shuffle.partitions": "1"}
TABLES = ("silent_sensors", "announced", "totals")
# No row is late, however they are cut, and no sensor is silent for an hour and comes back.
READINGS = [("a", 0), ("b", 5), ("a", 20), ("c", 14), ("b", 50), ("a", 45), ("c", 60), ("a", 90), ("d", 85), ("a", 90)]
LAST = ("d", 95)
SPLITS = testing.batch_splits(READINGS, 3, seed=2)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def reading(sensor: str, minute: int) -> dict[str, Any]:
    return {"sensor": sensor, "time": at(minute)}


@pytest.fixture
def page(spark: SparkSession, tmp_path: Path) -> Path:
    """The pipeline of the page; the kit finds the session of these tests."""
    file = tmp_path / "sensors.py"
    code = "\n".join(block.text for block in blocks(ROOT / "docs/how-to/custom-state.md") if block.marks)
    file.write_text(code, encoding="utf-8")
    return file


def _feed(pipeline: PipelineUnderTest, rows: list[Any], *tables: str) -> None:
    for table in tables or TABLES:
        pipeline.feed(table, rows)
    pipeline.step()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("batches", SPLITS, ids=lambda batches: f"{len(batches)} batches")
def test_the_examples_in_any_batches(page: Path, batches: list[list[tuple[str, int]]]) -> None:
    chance = random.Random(len(batches))
    crash, restart = (chance.randrange(len(batches)) for _ in range(2))
    newest: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for sensor, minute in [*READINGS, LAST]:
        newest[sensor], counts[sensor] = max(newest[sensor], minute), counts[sensor] + 1
    with testing.pipeline(page, configuration=QUICK) as sensors:
        for number, batch in enumerate(batches):
            rows: list[Any] = [reading(*each) for each in batch]
            _feed(sensors, [*rows, testing.CRASH] if number == crash else rows)
            if number == restart:
                sensors.restart()
        _feed(sensors, [reading(*LAST)])  # Spark closes nothing before a query has run a batch since its start
        sensors.advance_watermark("silent_sensors", to=at(600))
        silent = [
            {"sensor": sensor, "readings": counts[sensor], "silent_since": at(minute)}
            for sensor, minute in newest.items()
        ]
        testing.assert_table(sensors, "silent_sensors", silent)
        testing.assert_table(sensors, "announced", [{"sensor": sensor} for sensor in newest])
        totals: dict[str, int] = {}
        for row in sensors.table("totals"):
            totals[row["sensor"]] = max(row["n"], totals.get(row["sensor"], 0))
        assert totals == {**counts, "a": 1000 + counts["a"]}, "the newest of each"

        _feed(sensors, [reading("late", 100)])
        [late] = sensors.late_rows("silent_sensors")
        assert (late["sensor"], late["_late_operator"]) == ("late", "transformWithState")
        assert sensors.late_rows("announced") == [], "it does not look at the watermark"
        testing.assert_table(sensors, "silent_sensors", silent)


def test_values_are_forgotten_by_the_clock(page: Path) -> None:
    with testing.pipeline(page, configuration=QUICK) as sensors:
        for hours, announced in ((0, 1), (23, 1), (25, 2)):
            sensors.set_clock(START + timedelta(hours=hours))
            _feed(sensors, [reading("a", 60 * hours)], "announced")
            assert len(sensors.table("announced")) == announced, hours
