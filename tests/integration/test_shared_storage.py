"""A storage on a local path that the workers of a cluster do not see: nothing is written, and the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import own_process
from tests.integration.spark_standalone import SparkStandalone

from penstock.events import EventType, read_events

_PIPELINE = """
import dlt


@dlt.table
def rows():
    return spark.readStream.schema("id LONG").json("in")
"""


@pytest.mark.timeout(600)
def test_executors_that_do_not_see_the_storage_write_nothing(cluster: SparkStandalone, tmp_path: Path) -> None:
    """The path leads each process to a folder below its own current one, as if each had a disk of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"id": 1}\n')
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "penstock.yml").write_text(
        f"name: shop\nmaster: {cluster.url}\nstorage: /proc/self/cwd/store\n"
        "spark_conf: {spark.executor.memory: 512m, spark.driver.memory: 512m}\n"
    )
    outcome = own_process("run", tmp_path, "--json", cwd=tmp_path, timeout=400).expect(2)
    error = outcome.error("STORAGE_NOT_SHARED")
    assert "/proc/self/cwd/store" in error["message"]
    store = tmp_path / "store"
    assert not [*store.rglob("*.parquet"), *store.rglob(".executor-*")]
    [*_, last] = read_events(str(store), types={EventType.UPDATE_PROGRESS})
    assert last.error is not None
    assert last.error["condition"] == "STORAGE_NOT_SHARED"
