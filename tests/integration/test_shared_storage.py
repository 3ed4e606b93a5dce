"""A storage on a local path that the workers of a cluster do not see: nothing is written, and the command says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import own_process
from tests.integration.spark_standalone import SparkStandalone

from penstock.events import EventType, read_events

_PIPELINE = """
import dlt


@dlt.table{}
def rows():
    return spark.readStream.schema("id LONG").json("in")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The path of its storage leads each process to a folder below its own current one, as if each had its own disk."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"id": 1}\n')
    (tmp_path / "pipeline.py").write_text(_PIPELINE.format(""))
    return tmp_path


def _use(project: Path, master: str, storage: str = "/proc/self/cwd/store") -> None:
    (project / "penstock.yml").write_text(
        f"name: shop\nmaster: {master}\nstorage: {storage}\n"
        "spark_conf: {spark.executor.memory: 512m, spark.driver.memory: 512m}\n"
    )


@pytest.mark.timeout(600)
def test_executors_that_do_not_see_the_storage_write_nothing(cluster: SparkStandalone, project: Path) -> None:
    _use(project, cluster.url)
    outcome = own_process("run", project, "--json", cwd=project, timeout=400).expect(2)
    error = outcome.error("STORAGE_NOT_SHARED")
    assert "/proc/self/cwd/store" in error["message"]
    store = project / "store"
    assert not [*store.rglob("*.parquet"), *store.rglob(".executor-*")]
    [*_, last] = read_events(str(store), types={EventType.UPDATE_PROGRESS})
    assert last.error is not None
    assert last.error["condition"] == "STORAGE_NOT_SHARED"


@pytest.mark.timeout(600)
def test_nor_do_those_that_do_not_see_a_table(cluster: SparkStandalone, project: Path) -> None:
    _use(project, cluster.url, storage=str(project / "store"))
    (project / "pipeline.py").write_text(_PIPELINE.format('(path="/proc/self/cwd/lake/rows")'))
    outcome = own_process("run", project, "--json", cwd=project, timeout=400).expect(2)
    assert "/proc/self/cwd/lake/rows" in outcome.error("STORAGE_NOT_SHARED")["message"]
    assert not [*project.rglob("*.parquet"), *project.rglob(".executor-*")]


@pytest.mark.timeout(600)
def test_commands_end_as_runs_do(cluster: SparkStandalone, project: Path) -> None:
    _use(project, "local[1]")
    own_process("run", project, "--json", cwd=project, timeout=200).expect(0)
    _use(project, cluster.url)
    written = {*(project / "store").rglob("*.parquet")}
    for command in (("optimize", project), ("sql", "SELECT count(*) FROM rows", project)):
        outcome = own_process(*command, "--json", cwd=project, timeout=200).expect(2)
        assert "/proc/self/cwd/store" in outcome.error("STORAGE_NOT_SHARED")["message"]
    assert {*(project / "store").rglob("*.parquet")} == written
