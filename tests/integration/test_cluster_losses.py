"""A cluster that loses executors and its master while a run is at work: events, status, and an end by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import Running, own_process, penstock, running
from tests.integration.spark_standalone import SparkStandalone
from tests.oracle.tables import read_table, stored

from penstock.events import ClusterResources, ClusterState, EventType, cluster_resources_of, read_events

pytestmark = pytest.mark.usefixtures("one_process")

_SECONDS = 400.0  # the JVMs share the cores of a small machine
_CLUSTER = {EventType.CLUSTER_RESOURCES}
_SMALL = "{spark.executor.memory: 512m, spark.driver.memory: 512m}"
ONE = ClusterResources(ClusterState.AVAILABLE, 1)
LOST = ClusterResources(ClusterState.MASTER_LOST, 0)


class Project:
    """A pipeline of one table, which files fill, on a cluster."""

    def __init__(self, directory: Path, master: str) -> None:
        self.directory = directory
        self.storage = directory / ".penstock"
        (directory / "in").mkdir(parents=True)
        (directory / "pipeline.py").write_text(
            "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"
        )
        (directory / "penstock.yml").write_text(
            f"name: small\nmaster: {master}\ncluster_timeout: 15 seconds\nspark_conf: {_SMALL}\n"
            "alerts: {tables: {'*': {failed: true}}}\n"  # the others are on by default
        )

    def arrive(self, number: int) -> None:
        (self.directory / "in" / f"{number}.json").write_text(f'{{"id": {number}}}\n')

    def told(self) -> list[ClusterResources]:
        """What the events say of the cluster, oldest first."""
        if not (self.storage / "events").exists():
            return []
        found = (cluster_resources_of(event) for event in read_events(str(self.storage), types=_CLUSTER))
        return [each for each in found if each is not None]

    def wait_for(self, command: Running, *expected: ClusterResources) -> None:
        command.wait_for(lambda: any(each in expected for each in self.told()), what=str(expected), timeout=_SECONDS)

    def status(self) -> Any:
        return penstock("status", self.directory, "--json").expect(0).document

    def rows(self) -> list[int]:
        if not (stored(self.storage, "default", "rows") / "_delta_log/00000000000000000001.json").exists():
            return []
        return sorted(row["id"] for row in read_table(stored(self.storage, "default", "rows")))


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[SparkStandalone]:
    with SparkStandalone(tmp_path / "cluster", workers=1) as running_cluster:
        yield running_cluster


@pytest.mark.timeout(1200)
def test_a_restarted_master_that_knows_no_application_ends_the_run_and_the_next_one_goes_on(
    spark: SparkStandalone, tmp_path: Path
) -> None:
    project = Project(tmp_path / "small", spark.url)
    project.arrive(1)
    with running("run", project.directory, "--continuous", "--json") as command:
        project.wait_for(command, ONE)
        command.wait_for(lambda: project.rows() == [1], what="the first row", timeout=_SECONDS)
        assert spark.kill_executors() == 1
        project.wait_for(command, ClusterResources(ClusterState.NO_EXECUTORS, 0))
        command.wait_for(lambda: project.told()[-1] == ONE, what="another executor", timeout=_SECONDS)
        [lost] = [event for event in read_events(str(project.storage), types=_CLUSTER) if event.error is not None]
        spark.kill_master()
        project.wait_for(command, ClusterResources(ClusterState.MASTER_LOST, 1))
        project.arrive(2)
        command.wait_for(lambda: project.rows() == [1, 2], what="a batch without a master", timeout=_SECONDS)
        spark.start_master()  # it has the worker end the executor, of which it does not know
        project.wait_for(command, LOST)
        status = project.status()
        project.arrive(3)
        outcome = command.wait(_SECONDS).expect(1)
    assert lost.error is not None
    assert lost.error["condition"] == "CLUSTER_NO_EXECUTORS"
    assert "Lost executor 0" in lost.error["message"]
    assert status["cluster"]["state"] == "MASTER_LOST"
    assert status["datasets"][0]["processed_rows_per_second"] is None
    assert outcome.conditions == ["CLUSTER_MASTER_LOST"]
    assert project.status()["update"]["error"]["condition"] == "CLUSTER_MASTER_LOST"
    own_process("run", project.directory, timeout=_SECONDS).expect(0)
    assert project.rows() == [1, 2, 3]


@pytest.mark.slow  # the watch itself: tests/unit/runtime/test_cluster_watch.py
@pytest.mark.timeout(1200)
def test_a_run_waits_for_executors_and_tells_when_they_come(tmp_path: Path) -> None:
    with SparkStandalone(tmp_path / "cluster", workers=0) as spark:
        project = Project(tmp_path / "small", spark.url)
        project.arrive(1)
        with running("run", project.directory) as command:
            project.wait_for(command, ClusterResources(ClusterState.NO_EXECUTORS, 0))
            status = project.status()
            alerts = penstock("alerts", "check", project.directory, "--json").document["wrong"]
            spark.add_worker()
            command.wait(_SECONDS).expect(0)
    assert status["cluster"]["error"]["condition"] == "CLUSTER_NO_EXECUTORS"
    assert [each["condition"] for each in alerts] == ["CLUSTER_NO_EXECUTORS"]
    assert project.told()[-1] == ONE
    assert project.status()["cluster"] is None
    assert project.rows() == [1]


@pytest.mark.slow  # the watch itself: tests/unit/runtime/test_cluster_watch.py
@pytest.mark.timeout(1200)
def test_an_application_that_the_cluster_ends_ends_the_run(spark: SparkStandalone, tmp_path: Path) -> None:
    project = Project(tmp_path / "small", spark.url)
    project.arrive(1)
    with running("run", project.directory, "--continuous", "--json") as command:
        command.wait_for(lambda: project.rows() == [1], what="the first row", timeout=_SECONDS)
        spark.kill_applications()
        outcome = command.wait(_SECONDS).expect(1)
    assert outcome.conditions == ["CLUSTER_APPLICATION_STOPPED"]
