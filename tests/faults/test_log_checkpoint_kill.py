"""kill -9 while the checkpoint of a table's log is written beside its stream: readers and the next run miss nothing."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.faults.killing import kill
from tests.oracle.tables import assert_table
from tests.processes import wait_until

_PIPELINE = """
import penstock as ps


@ps.table
def orders():
    return spark.readStream.schema("id LONG").json("in")
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_in_the_middle_of_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n", encoding="utf-8")
    (tmp_path / "pipeline.py").write_text(_PIPELINE, encoding="utf-8")
    (tmp_path / "in").mkdir()
    table = tmp_path / ".penstock/tables/shop/orders"
    log = table / "_delta_log"

    def unfinished() -> list[Path]:
        return list(log.glob(".*.checkpoint.parquet.*.tmp"))

    with running("run", tmp_path, "--continuous") as command:
        _arrive(tmp_path, 0)
        command.wait_for((log / f"{1:020}.json").exists, what="the first batch")
        time.sleep(1)  # it looks whether a checkpoint is due when it has committed
        _others_commit(log, 2, 60)
        _arrive(tmp_path, 1)
        wait_until(lambda: bool(unfinished()), timeout=120, what="a checkpoint that is being written", interval=0.002)
        kill(command, "both")
    assert unfinished()
    assert not (log / "_last_checkpoint").exists()
    assert not list(log.glob("*.checkpoint*.parquet"))
    _arrive(tmp_path, 2)
    penstock("run", tmp_path).expect(0)
    assert json.loads((log / "_last_checkpoint").read_text())["version"] >= 62, "its first batch has made good for it"
    for commit in log.glob("*.json"):
        if int(commit.stem) <= json.loads((log / "_last_checkpoint").read_text())["version"]:
            commit.unlink()
    _arrive(tmp_path, 3)
    penstock("run", tmp_path).expect(0)
    assert_table(table, [{"id": number} for number in range(4)])


def _arrive(project: Path, number: int) -> None:
    (project / f"{number}.tmp").write_text(json.dumps({"id": number}), encoding="utf-8")
    (project / f"{number}.tmp").rename(project / f"in/{number}.json")


def _others_commit(log: Path, first: int, count: int) -> None:
    for version in range(first, first + count):
        with suppress(FileExistsError), (log / f"{version:020}.json").open("x") as commit:
            commit.write('{"commitInfo": {"operation": "NOTHING"}}\n')
