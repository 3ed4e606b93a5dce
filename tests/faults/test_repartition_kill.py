"""`penstock checkpoint repartition` is killed with SIGKILL at its steps: the flow has its old state or the new one.

The JVM is held by Byteman around one of Spark's files, Python around one of the two renames by which the new
checkpoint takes the place of the old one. The next run must then deduplicate as if nothing had happened.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli_runner import penstock
from tests.faults import byteman
from tests.faults.crash_points import Call, JvmPlace, kill_when_held
from tests.spark.pipeline_project import PipelineProject

from penstock.storage import Storage
from penstock.storage.checkpoint.state import state_partitions

_ORDERS = """
@dp.table(spark_conf={"spark.sql.shuffle.partitions": "3"})
def orders():
    return spark.readStream.schema("id LONG").json("in").dropDuplicates(["id"])
"""
_STAGED = "orders/0[.]restoring-[^/]*"
_CHECKPOINT = ".penstock/checkpoints/shop/orders/orders"

_HOLDS_A_RENAME = """
import itertools, os, threading

moment, number, sign = os.environ["HELD_RENAME"].split(" ")
rename, calls = os.rename, itertools.count(1)

def renamed(source, target, **options):
    ours = any(mark in str(name) for mark in (".restoring-", ".before-") for name in (source, target))
    held = ours and next(calls) == int(number)
    if held and moment == "before":
        hold()
    rename(source, target, **options)
    if held:
        hold()

def hold():
    open(sign, "w").close()
    threading.Event().wait()

os.rename = renamed
"""


@dataclass(frozen=True, slots=True)
class Step:
    """Where the command is held: the JVM at a file of the new checkpoint, or Python at a rename.

    `is_new` tells which state the flow has afterwards.
    """

    call: Call
    place: str | int
    is_new: bool

    def held(self, folder: Path, sign: Path) -> dict[str, str]:
        """Returns the environment in which the command is held here, and makes the sign."""
        folder.mkdir()
        if isinstance(self.place, str):
            return byteman.environment(
                JvmPlace(self.call, f"{_STAGED}/{self.place}").rule("dedup", sign), folder / "rules.btm"
            )
        (folder / "sitecustomize.py").write_text(_HOLDS_A_RENAME)
        path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(path), "HELD_RENAME": f"{self.call} {self.place} {sign}"}


_STEPS = {
    "Spark has not planned it": Step("before", "offsets/[0-9]+", is_new=False),
    "a part of the state is divided": Step("after", "state/0/1/[0-9]+[.](zip|changelog)", is_new=False),
    "Spark has not committed it": Step("before", "commits/[0-9]+", is_new=False),
    "Spark has committed it": Step("after", "commits/[0-9]+", is_new=False),
    "the old one is in its place": Step("before", 1, is_new=True),
    "none is in its place": Step("after", 1, is_new=True),
    "the new one is in its place": Step("after", 2, is_new=True),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> PipelineProject:
    made = PipelineProject(tmp_path_factory.mktemp("repartition"), spark)
    made.write(_ORDERS)
    made.arrive("0", _rows(1))
    assert made.run().errors == ()
    return made


@pytest.mark.slow  # test_repartition.py of tests/spark ends it at each of its steps
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", _STEPS)
def test_a_killed_repartition_loses_no_state(project: PipelineProject, tmp_path: Path, step: str) -> None:
    directory, storage = project.directory, Storage(str(project.directory / _CHECKPOINT / "0"))
    before = state_partitions(storage)
    assert before is not None
    wanted = 5 - before
    sign = tmp_path / "held"
    command = ("checkpoint", "repartition", "orders", directory, "--partitions", wanted, "--yes")
    kill_when_held(command, _STEPS[step].held(tmp_path / "rules", sign), [sign])
    files = len(list((directory / "in").glob("*.json"))) + 1
    project.arrive(str(files), _rows(files))
    assert project.run().errors == ()
    assert project.rows("orders", "id") == list(range(20 * files)), "the state knows all earlier ids"
    assert state_partitions(storage) == (wanted if _STEPS[step].is_new else before)
    assert json.loads(penstock("checkpoint", "verify", directory, "--json").stdout)["findings"] == []


def _rows(files: int) -> list[dict[str, int]]:
    """The ids of all earlier files, and twenty new ones."""
    return [{"id": each} for each in range(20 * files)]
