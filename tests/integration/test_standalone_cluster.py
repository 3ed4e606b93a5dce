"""The quickstart on a real cluster: nothing changes but the master's address, and the tables are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.integration.spark_standalone import SparkStandalone
from tests.projects import orders_project

_SECONDS = 500.0  # five JVMs share the cores of a small machine


@pytest.mark.timeout(1200)
def test_the_quickstart_gives_the_same_tables_on_two_workers(cluster: SparkStandalone, tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders")
    few_tasks = "  spark.databricks.delta.snapshotPartitions: 2\n"  # not 50 for a log of four commits
    project.add_settings(f"  spark.executor.memory: 512m\n{few_tasks}master: {cluster.url}")
    before = cluster.executors_started()
    penstock("run", project.directory, timeout=_SECONDS).expect(0)
    assert cluster.executors_started() - before >= 2
    project.assert_tables()
    project.drop_files(2)
    penstock("run", project.directory, timeout=_SECONDS).expect(0)
    project.assert_tables()
