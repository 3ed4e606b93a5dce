"""kill -9 around the write of a batch's late rows: each of them is kept once, whatever was cut off."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.faults import dying
from tests.oracle.tables import read_table

pytestmark = pytest.mark.usefixtures("one_process")

_PIPELINE = """
import penstock as ps
from penstock.spark.late import late_rows
from pyspark.sql import functions as F

late_rows.append_to_table = dying(late_rows.append_to_table)


@ps.table
def hours():
    rows = spark.readStream.schema("id LONG, at TIMESTAMP").option("maxFilesPerTrigger", 1).json("in")
    windows = rows.withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour"))
    return windows.count().select("window.start", "count")
"""
_HOURS = [[0], [20], [21], [1, 22, 2], [23, 3, 23, 18], [23], [5, 23]]
_LATE = [(3, 30), (3, 32), (4, 41), (4, 43), (6, 60)]  # behind 18:30 of batch 1 and 2, and 21:30 or later


@pytest.mark.slow  # test_late_rows.py of tests/spark starts after what a process that died has left
@pytest.mark.timeout(600)
@pytest.mark.parametrize("dies_at", ["after:2", "before:2"])
def test_killed_around_the_write_of_late_rows(tmp_path: Path, dies_at: str) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n", encoding="utf-8")
    (tmp_path / "pipeline.py").write_text(Path(dying.__file__).read_text() + _PIPELINE, encoding="utf-8")
    (tmp_path / "in").mkdir()
    for file, hours in enumerate(_HOURS):
        rows = [{"id": 10 * file + n, "at": f"2026-01-01T{hour:02d}:30:00Z"} for n, hour in enumerate(hours)]
        path = tmp_path / f"in/{file}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        os.utime(path, (1_767_000_000 + file,) * 2)
    with running("run", tmp_path, environ={"DIES_AT": dies_at}) as command:
        assert command.wait(300).exit_code == -signal.SIGKILL
    penstock("run", tmp_path).expect(0)
    late = read_table(tmp_path / ".penstock/tables/shop/hours__late")
    assert sorted((row["_late_batch_id"], row["id"]) for row in late) == _LATE
    counted = sum(row["count"] for row in read_table(tmp_path / ".penstock/tables/shop/hours"))
    [shown] = json.loads(penstock("status", tmp_path, "--json").expect(0).stdout)["datasets"]
    assert shown["late"] == len(_LATE)
    assert counted + shown["late"] + _open_rows() == sum(map(len, _HOURS))


def _open_rows() -> int:
    """Rows of windows that the last watermark, 22:30, has not closed."""
    return sum(hour >= 22 for hours in _HOURS for hour in hours)
