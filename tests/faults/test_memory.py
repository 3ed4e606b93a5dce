"""A Python worker or the driver runs out of memory: the error says so, and with enough of it the run completes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli_runner import Outcome, penstock
from tests.oracle.tables import read_table, stored

_PIPELINE = """
import os
import resource

import dlt
from pyspark.sql import functions as F

HERE = os.path.dirname(os.path.abspath(__file__))


@F.udf("long")
def through_python(number):
    if number == 15 and os.path.exists(os.path.join(HERE, "too_little")):
        if os.path.exists(os.path.join(HERE, "killed")):
            os.kill(os.getpid(), 9)  # what the kernel does when the machine has none left
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
        bytearray(2**31)
    return number


@dlt.table
def numbers():
    rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")
    return rows.select(through_python("id").alias("id"))


@dlt.table
def large():
    rows = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")
    count = 400_000_000 if os.path.exists(os.path.join(HERE, "too_much")) else 1
    return rows.select("id", F.size(F.array_repeat(F.concat(F.lit("x" * 100), "id"), count)).alias("size"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(
        "name: shop\nschema: shop\nmaster: local[2]\nspark_conf:\n  spark.driver.memory: 600m\n"
        "  spark.sql.shuffle.partitions: 2\n"
    )
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "in").mkdir()
    return tmp_path


def _arrive(project: Path, file: int) -> None:
    rows = "".join(json.dumps({"id": each}) + "\n" for each in range(10 * file, 10 * file + 10))
    (project / "in" / f"{file}.json").write_text(rows)


def _run(project: Path) -> Outcome:
    return penstock("run", project, "--json")


def _ids(project: Path, table: str) -> list[int]:
    return sorted(row["id"] for row in read_table(stored(project / ".penstock", "shop", table)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("markers", "condition"),
    [
        (["too_little"], "FLOW_FAILED"),
        (["too_little", "killed"], "FLOW_FAILED"),
        (["too_much"], "JVM_DIED"),
    ],
    ids=["MemoryError in Python", "Python worker killed", "the driver"],
)
def test_too_little_memory_loses_nothing(project: Path, markers: list[str], condition: str) -> None:
    _arrive(project, 0)
    _run(project).expect(0)
    for file in (1, 2):
        _arrive(project, file)
    for name in markers:
        (project / name).touch()
    failed = _run(project).expect(1)
    assert condition in failed.conditions, failed
    assert "Traceback" not in failed.stderr
    for name in markers:
        (project / name).unlink()
    _run(project).expect(0)
    assert _ids(project, "numbers") == _ids(project, "large") == list(range(30))
