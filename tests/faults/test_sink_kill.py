"""kill -9 while rows go to Delta sinks: the next run leaves each row there once."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.oracle.tables import read_table

_FILES, _ROWS = 8, 20
_PIPELINE = """
import penstock as ps

ps.create_sink("by_name", "delta", {"tableName": "lake.orders"})
ps.create_sink("by_path", "delta", {"path": "out"})

for target in ("by_name", "by_path"):
    for parity in (0, 1):

        @ps.append_flow(target=target, name=f"{target}_{parity}")
        def flow(parity=parity):
            rows = spark.readStream.schema("id INT").option("maxFilesPerTrigger", "1").json("in")
            return rows.where(f"id % 2 = {parity}")
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_delta_sinks_take_each_row_once(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: sinks\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "in").mkdir()
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        (tmp_path / "in" / f"{number:02}.json").write_text("".join(json.dumps({"id": each}) + "\n" for each in ids))
    outputs = (tmp_path / "out", tmp_path / ".penstock" / "tables" / "lake" / "orders")

    with running("run", tmp_path) as command:
        command.wait_for(lambda: all(_commits(output) >= 4 for output in outputs), what="four commits into each sink")
        command.signal(signal.SIGKILL)
        command.wait()
    assert any(_commits(output) < 2 * _FILES for output in outputs), "it had not finished yet"

    penstock("run", tmp_path).expect(0)
    for output in outputs:
        assert sorted(row["id"] for row in read_table(output)) == list(range(_FILES * _ROWS))


def _commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))
