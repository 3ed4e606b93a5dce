"""The cluster harness itself: a plain PySpark program runs its Python code on both workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
from tests.integration.spark_standalone import SparkStandalone

_PROGRAM = """
import os, sys, time
from pyspark.sql import SparkSession

def where(rows):
    time.sleep(2)
    yield os.getppid(), sum(row.id for row in rows)

spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.executor.memory", "512m").config("spark.ui.enabled", "false")
    .config("spark.pyspark.python", sys.executable)
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
parts = spark.range(0, 100, 1, 4).rdd.mapPartitions(where).collect()
print(len({daemon for daemon, _ in parts}), sum(part for _, part in parts))
spark.stop()
"""


def test_a_program_runs_on_two_workers_and_nothing_stays(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    with SparkStandalone(tmp_path / "cluster", memory="512m") as cluster:
        pids = cluster.pids
        assert len(pids) == 3
        done = subprocess.run(
            [sys.executable, program, cluster.url], check=False, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.split() == ["2", "4950"]
        assert cluster.executors_started() == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
