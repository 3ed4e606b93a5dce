"""The examples of docs/how-to/custom-state.md through the test kit."""

from __future__ import annotations

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
    for table in tables:
        pipeline.feed(table, rows)
    pipeline.step()


def test_values_are_forgotten_by_the_clock(page: Path) -> None:
    with testing.pipeline(page, configuration=QUICK) as sensors:
        for hours, announced in ((0, 1), (23, 1), (25, 2)):
            sensors.set_clock(START + timedelta(hours=hours))
            _feed(sensors, [reading("a", 60 * hours)], "announced")
            assert len(sensors.table("announced")) == announced, hours
