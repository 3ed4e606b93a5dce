"""What is said of a cluster, look by look, and when that ends the update."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.events import ClusterResources, ClusterState
from penstock.events.background import BackgroundThread
from penstock.runtime.reporting import cluster_watch
from penstock.runtime.reporting.cluster_watch import ClusterWatch, watching_cluster
from penstock.spark.session.cluster.executors import ClusterSnapshot

_AVAILABLE, _LOST = ClusterState.AVAILABLE, ClusterState.EXECUTORS_LOST
_NONE, _MASTER = ClusterState.NO_EXECUTORS, ClusterState.MASTER_LOST


class FakeCluster:
    """A cluster that is as the test says."""

    master = "spark://m:7077"
    log = Path("/nowhere/driver.log")

    def __init__(self, *, dynamic: bool = False) -> None:
        self.dynamic = dynamic
        self.snapshot = ClusterSnapshot(0)

    def look(self) -> ClusterSnapshot:
        return self.snapshot

    def why_no_executors(self) -> str | None:
        return None


class Reports:
    """Takes what is said in the place of a reporter."""

    def __init__(self) -> None:
        self.said: list[tuple[ClusterState, int, str | None]] = []

    def cluster(self, _master: str, resources: ClusterResources, *, error: PenstockError | None) -> None:
        condition = None if error is None else error.condition
        self.said.append((resources.state, resources.num_executors, condition))

    def background_thread(self, work: Callable[[], object], name: str) -> BackgroundThread:
        return BackgroundThread(work, name, Mock())


def _watch(cluster: Any, reports: Any) -> ClusterWatch:
    return ClusterWatch(cluster, reports, timeout=30, now=0)


def test_executors_that_come_go_and_come_back() -> None:
    cluster, reports = FakeCluster(), Reports()
    watch = _watch(cluster, reports)
    for now, executors in enumerate((0, 2, 2, 1, 1, 0, 2)):
        cluster.snapshot = ClusterSnapshot(executors)
        watch.look(now)
    assert reports.said == [
        (_AVAILABLE, 2, None),
        (_LOST, 1, "CLUSTER_EXECUTORS_LOST"),
        (_NONE, 0, "CLUSTER_NO_EXECUTORS"),
        (_AVAILABLE, 2, None),
    ]
    watch.check()


@pytest.mark.parametrize(("master", "seconds"), [("spark://m:7077", 15), ("yarn", 30), ("k8s://https://m", 30)])
def test_a_cluster_that_has_no_executor_in_time_is_reported_and_waited_for(master: str, seconds: int) -> None:
    cluster, reports = FakeCluster(), Reports()
    cluster.master = master
    watch = _watch(cluster, reports)
    watch.look(seconds - 0.1)
    assert reports.said == []
    watch.look(seconds)
    watch.look(3000)
    watch.check()
    assert reports.said == [(_NONE, 0, "CLUSTER_NO_EXECUTORS")]


def test_with_dynamic_allocation_fewer_executors_are_no_loss_and_none_only_while_a_job_waits() -> None:
    cluster, reports = FakeCluster(dynamic=True), Reports()
    watch = _watch(cluster, reports)
    for snapshot in (ClusterSnapshot(3), ClusterSnapshot(1), ClusterSnapshot(0, waiting=False), ClusterSnapshot(0)):
        cluster.snapshot = snapshot
        watch.look(100)
    assert [(state, number) for state, number, _ in reports.said] == [
        (_AVAILABLE, 3),
        (_AVAILABLE, 1),
        (_AVAILABLE, 0),
        (_NONE, 0),
    ]


def test_a_lost_master_ends_the_update_only_without_executors_and_after_the_timeout() -> None:
    cluster, reports = FakeCluster(), Reports()
    watch = _watch(cluster, reports)
    cluster.snapshot = ClusterSnapshot(1, master_lost=True)
    watch.look(100)
    watch.look(1000)
    cluster.snapshot = ClusterSnapshot(0, master_lost=True)
    watch.look(1001)
    watch.look(1030.9)
    watch.check()
    watch.look(1031)
    assert [(state, number) for state, number, _ in reports.said] == [(_MASTER, 1), (_MASTER, 0)]
    with pytest.raises(ExternalError) as ended:
        watch.check()
    assert (ended.value.condition, ended.value.facts["seconds"]) == ("CLUSTER_MASTER_LOST", "30")


def test_a_master_that_takes_the_application_back_begins_the_time_anew() -> None:
    cluster, reports = FakeCluster(), Reports()
    watch = _watch(cluster, reports)
    for now, snapshot in enumerate(
        [ClusterSnapshot(0, master_lost=True), ClusterSnapshot(0), ClusterSnapshot(0, master_lost=True)]
    ):
        cluster.snapshot = snapshot
        watch.look(100 + 25 * now)
    watch.check()


def test_an_application_that_spark_has_stopped_ends_the_update() -> None:
    cluster = FakeCluster()
    watch = _watch(cluster, Reports())
    cluster.snapshot = ClusterSnapshot(0, stopped=True)
    watch.look(1)
    with pytest.raises(ExternalError, match="CLUSTER_APPLICATION_STOPPED"):
        watch.check()


def test_an_executor_that_does_not_see_the_storage_ends_the_update() -> None:
    cluster = FakeCluster()
    watch = _watch(cluster, Reports())
    cluster.snapshot = ClusterSnapshot(1, unshared=("worker-2", "/lake", "no such folder"))
    watch.look(1)
    with pytest.raises(ConfigError) as ended:
        watch.check()
    assert (ended.value.condition, ended.value.facts["host"]) == ("STORAGE_NOT_SHARED", "worker-2")


@pytest.mark.parametrize("noticed", [False, True])
def test_what_waits_for_a_dead_cluster_is_ended_and_its_error_replaced(
    monkeypatch: pytest.MonkeyPatch, noticed: bool
) -> None:
    killed, abandon = threading.Event(), threading.Event()
    monkeypatch.setattr(cluster_watch, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(cluster_watch, "_NOTICED_SECONDS", 0.05)
    monkeypatch.setattr(cluster_watch, "kill_children", killed.set)
    cluster: Any = FakeCluster()
    cluster.snapshot = ClusterSnapshot(0, stopped=True)
    reports: Any = Reports()
    if noticed:
        abandon.set()

    def work() -> None:
        with watching_cluster(cluster, reports, timeout=30, abandon=abandon) as watch:
            assert watch is not None
            while watch.failure is None or not (noticed or killed.is_set()):
                time.sleep(0.01)
            raise RuntimeError("the JVM answers no more")

    with pytest.raises(ExternalError, match="CLUSTER_APPLICATION_STOPPED"):
        work()
    assert killed.is_set() is not noticed


def test_a_local_master_is_not_watched() -> None:
    reports: Any = Reports()
    with watching_cluster(None, reports, timeout=30, abandon=threading.Event()) as watch:
        assert watch is None
