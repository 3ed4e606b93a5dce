"""The input of the benchmark of lateness."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from benchmarks.lateness.__main__ import _write
from pyarrow import parquet


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_the_share_of_late_rows_is_of_an_earlier_minute(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"a.{kind}"
    _write(file, 2000, 0.5, 7)
    if kind == "json":
        times = [datetime.fromisoformat(json.loads(line)["at"]) for line in file.read_text().splitlines()]
    else:
        times = [row["at"] for row in parquet.read_table(file).to_pylist()]
    assert {at.minute for at in times} == {4, 7}
    assert 900 < sum(at.minute == 4 for at in times) < 1100
