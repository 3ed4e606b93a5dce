"""kill -9 while a batch goes to several sinks: before it is noted that the first of them has it, and after."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.oracle.tables import read_table

_FILES, _ROWS = 6, 20
_PIPELINE = """
import penstock as ps
from penstock.spark.sinks.batch_writer import WrittenSinks

WrittenSinks.add = dying(WrittenSinks.add)

ps.create_sink("first", "delta", {"path": "first"})
ps.create_sink("second", "delta", {"path": "second"})
ps.create_sink("both", "sinks", {"sinks": "told, first, second", "select.second": "id, id % 2 AS odd"})


@ps.foreach_batch_sink
def told(df, batch_id):
    with open("told.txt", "a") as file:
        file.write(f"{batch_id} ")


@ps.append_flow(target="both")
def rows():
    return spark.readStream.schema("id INT").option("maxFilesPerTrigger", "1").json("in")
"""
# Three sinks a batch are three notes: of the second batch the one of `told`, of the fourth the one of `first`.
_PLACES = ("before:4", "after:8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_sink_has_each_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "penstock.yml").write_text("name: sinks\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text((Path(__file__).parent / "dying.py").read_text() + _PIPELINE)
    (tmp_path / "in").mkdir()
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("".join(json.dumps({"id": each}) + "\n" for each in ids))
        os.utime(file, (number, number))  # they are read in this order
    for place in _PLACES:
        ended = penstock("run", tmp_path, environ={"DIES_AT": place})
        assert ended.exit_code == -signal.SIGKILL, ended
    assert len(read_table(tmp_path / "second")) < _FILES * _ROWS, "it had not finished yet"

    penstock("run", tmp_path).expect(0)
    everything = list(range(_FILES * _ROWS))
    assert sorted(row["id"] for row in read_table(tmp_path / "first")) == everything
    assert sorted((row["id"], row["odd"]) for row in read_table(tmp_path / "second")) == [
        (each, each % 2) for each in everything
    ]
    batches = (tmp_path / "told.txt").read_text().split()
    assert batches == ["0", "1", "1", "2", "3", "4", "5"], "only the batch whose note was missing came again"
