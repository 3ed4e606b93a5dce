"""Pipelines on a real YARN cluster: the same tables, and an end by name where the application does not start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import own_process, penstock, running
from tests.integration.hdfs_server import HdfsServer
from tests.integration.java import spark_home
from tests.integration.test_quickstart import assert_same_tables
from tests.integration.yarn_cluster import YarnCluster
from tests.projects import orders_project

from penstock.storage import Storage, is_locked

_SECONDS = 500.0  # the JVMs share the cores of a small machine
_JARS = f"local:{spark_home()}/jars/*"  # where they are on each node; else each start uploads 400 MB
_CONF = f"  spark.yarn.jars: {_JARS}\n  spark.executor.memory: 512m\n  spark.executor.instances: 1\n"
_MASTER = "master: yarn\ncluster_timeout: 2 minutes\n"


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    """A cluster of one node; each run is an application of its own."""
    with YarnCluster(tmp_path_factory.mktemp("yarn") / "cluster", nodes=1) as running_cluster:
        yield running_cluster


@pytest.mark.timeout(600)
def test_one_run_at_a_time_makes_a_table_in_hdfs(
    yarn: YarnCluster, hdfs: HdfsServer, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = hdfs.bucket("small-yarn")
    quick = (f"  spark.{part}.extraJavaOptions: -XX:TieredStopAtLevel=1\n" for part in ("yarn.am", "executor"))
    conf = f"{_CONF}{''.join(quick)}  spark.yarn.stagingDir: {lake}/staging\n"
    (small / "penstock.yml").write_text(f"name: small\nspark_conf:\n{conf}{_MASTER}storage: {lake}/storage\n")
    pipeline = small / "pipeline.py"
    pipeline.write_text(pipeline.read_text().replace("'in'", f"'{lake}/in'"))
    hdfs.put("small-yarn", "in/1.json", [{"id": 1}, {"id": 2}])
    for name, value in yarn.environ.items():
        monkeypatch.setenv(name, value)
    with running("run", small, "--json") as first:
        first.wait_for(lambda: is_locked(Storage(f"{lake}/storage")), what="the lock")
        assert own_process("run", small, "--json").expect(3).conditions == ["STORAGE_LOCKED"]
        first.wait(_SECONDS).expect(0)
    assert [row["id"] for row in penstock("show", "rows", small, "--json").expect(0).document] == [1, 2]
    assert yarn.applications()[-1]["finalStatus"] == "SUCCEEDED"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_quickstart_gives_the_same_tables_on_yarn(yarn: YarnCluster, tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders", files=4)
    project.add_settings(f"{_CONF}  spark.yarn.stagingDir: file:{tmp_path}/staging\n{_MASTER}")
    penstock("run", project.directory, environ=yarn.environ, timeout=_SECONDS).expect(0)
    project.assert_tables()
    assert yarn.applications()[-1]["finalStatus"] == "SUCCEEDED"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_storage_is_in_hdfs(
    yarn: YarnCluster, hdfs: HdfsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = orders_project(tmp_path / "orders", files=4)
    lake = hdfs.bucket("orders-yarn")
    project.add_settings(f"{_CONF}  spark.yarn.stagingDir: {lake}/staging\n{_MASTER}storage: {lake}/orders")
    for name, value in yarn.environ.items():
        monkeypatch.setenv(name, value)
    assert_same_tables(project, f"{lake}/orders")
    assert yarn.applications()[-1]["finalStatus"] == "SUCCEEDED"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A pipeline of one table for YARN; nothing arrives."""
    folder = tmp_path / "small"
    (folder / "in").mkdir(parents=True)
    (folder / "pipeline.py").write_text(
        "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"
    )
    conf = f"{{spark.yarn.jars: '{_JARS}', spark.yarn.stagingDir: 'file:{tmp_path}/staging'}}"
    (folder / "penstock.yml").write_text(
        f"name: small\nmaster: yarn\ncluster_timeout: 15 seconds\nspark_conf: {conf}\n"
    )
    return folder


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[YarnCluster]:
    """A cluster without a node: whatever is submitted waits."""
    with YarnCluster(tmp_path / "yarn", nodes=0) as yarn:
        yield yarn


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_application_that_waits_in_the_queue_is_taken_out_of_it(crowded: YarnCluster, small: Path) -> None:
    outcome = penstock("run", small, "--json", environ=crowded.environ, timeout=_SECONDS).expect(1)
    [application] = crowded.applications()
    assert f"{application['id']} waits in the queue" in outcome.error("YARN_QUEUE_TIMEOUT")["message"]
    assert application["state"] == "KILLED"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_queue_that_is_not_there_ends_the_start(crowded: YarnCluster, small: Path) -> None:
    settings = small / "penstock.yml"
    settings.write_text(settings.read_text().replace("{", "{spark.yarn.queue: nobodys, "))
    outcome = penstock("run", small, "--json", environ=crowded.environ, timeout=_SECONDS).expect(1)
    assert "unknown queue: nobodys" in outcome.error("SPARK_START_FAILED")["message"]
