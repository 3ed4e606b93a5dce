"""`cluster: {elastic: true}` on a real cluster: executors come and go with the load, machines go, the state stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import running
from tests.integration.spark_standalone import SparkStandalone
from tests.oracle.tables import read_table, stored
from tests.processes import wait_until

_SECONDS = 400.0  # the JVMs share the cores of a small machine
_PIPELINE = """
import dlt
from pyspark.sql import functions as F


@dlt.table(output_mode="update", keys=["key"])
def counts():
    rows = spark.readStream.schema("key LONG, id LONG").json("in")
    return rows.groupBy("key").agg(F.count("*").alias("rows"), F.sum("id").alias("sum"))
"""
_QUICK = {
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "5s",
    "spark.executor.cores": 1,
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": 2,
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkStandalone]:
    with SparkStandalone(tmp_path / "cluster", decommission=True) as started:
        yield started


@pytest.mark.slow  # which settings it chooses: tests/unit/config/test_profiles.py
@pytest.mark.timeout(900)
def test_executors_come_and_go_and_the_state_stays(cluster: SparkStandalone, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "in").mkdir(parents=True)
    (project / "pipeline.py").write_text(_PIPELINE)
    settings = {"name": "elastic", "master": cluster.url, "cluster": {"elastic": True}, "spark_conf": _QUICK}
    (project / "penstock.yml").write_text(json.dumps(settings))  # JSON is YAML

    def arrive(number: int) -> None:
        rows = [{"key": key, "id": number} for key in range(4)]
        (project / "in" / f"{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def has(files: int) -> bool:
        table = stored(project / ".penstock", "default", "counts")
        if not (table / "_delta_log/00000000000000000000.json").exists():
            return False
        rows = read_table(table)
        return len(rows) == 4 and all((row["rows"], row["sum"]) == (files, sum(range(files))) for row in rows)

    arrive(0)
    with running("run", project, "--continuous") as command:
        command.wait_for(lambda: has(1), what="the first file", timeout=_SECONDS)
        assert cluster.executors()
        wait_until(lambda: not cluster.executors(), timeout=120, what="the executors to go")
        arrive(1)
        command.wait_for(lambda: has(2), what="the second file, with the state of the first", timeout=_SECONDS)
        [first, *_] = cluster.executors()
        taken = next(number for number in (1, 2) if first.pid in cluster.processes_of(number))
        arrive(2)
        cluster.interrupt_worker(taken, notice=3)
        arrive(3)
        command.wait_for(lambda: has(4), what="the rest, on the other machine", timeout=_SECONDS)
