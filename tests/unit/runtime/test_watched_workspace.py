"""What a command says of its cluster, which command is watched, and that an endpoint does not outlive its JVM."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from tests.repo.documents import ROOT

from penstock.errors import ExternalError
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Workspace
from penstock.runtime.reporting import cluster_watch
from penstock.runtime.serving import server
from penstock.spark.session.cluster.executors import Cluster, ClusterSnapshot

_WITHOUT_A_WATCH = {
    "runtime/update.py",  # watches by itself, with the event log
    "runtime/project/watched_workspace.py",
    "testing/pipeline_under_test.py",  # has a local session
}


class _WithoutExecutors:
    """A cluster that takes the application and has no cores for it."""

    master, log, dynamic = "spark://m:7077", Path("/nowhere/driver.log"), False

    def look(self) -> ClusterSnapshot:
        return ClusterSnapshot(0)

    def why_no_executors(self) -> str:
        return "the secret is s3cr3t"


def test_a_command_says_that_no_executor_runs_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_watch, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Workspace, "open", Mock())
    monkeypatch.setattr(Cluster, "of", lambda *_: _WithoutExecutors())
    said: list[str] = []
    config: Any = SimpleNamespace(cluster_timeout=0.05, redact=lambda text: text.replace("s3cr3t", "***"))
    with watched_workspace(config, said.append):
        deadline = time.monotonic() + 30
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
    [line] = said
    assert line.startswith("[CLUSTER_NO_EXECUTORS] No executor runs on spark://m:7077: the secret is ***.")
    assert "/nowhere/driver.log" in line


def test_every_command_with_a_session_is_watched() -> None:
    source = ROOT / "src/penstock"
    opening = {str(file.relative_to(source)) for file in source.rglob("*.py") if "Workspace.open(" in file.read_text()}
    assert opening == _WITHOUT_A_WATCH


@pytest.mark.parametrize("dead", [True, False])
def test_an_endpoint_ends_with_its_jvm(monkeypatch: pytest.MonkeyPatch, dead: bool) -> None:
    monkeypatch.setattr(server, "_TABLES_EVERY", 0.0)
    monkeypatch.setattr(server, "_USERS_EVERY", 0.01)
    monkeypatch.setattr(server, "jvm_exit_code", lambda *, within: -9 if dead and within else None)
    stop = threading.Event()
    reported: list[str] = []

    def report(line: str) -> None:
        reported.append(line)
        stop.set()

    endpoint, users = Mock(), Mock()
    users.refresh.return_value = ()
    endpoint.running.side_effect = ConnectionError("the JVM answers no more")
    endpoint.ran_out_of_memory.return_value = False
    serving = server.Server(endpoint, Mock(), users, Mock(), report, time.time(), Mock())
    if dead:
        with pytest.raises(ConnectionError):
            serving.run(stop)
    else:
        serving.run(stop)
    assert bool(reported) is not dead
    endpoint.stop.assert_called_once_with()


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (lambda: 1, None),
        (lambda: threading.Event().wait(5), "no job ends any more"),
        (Mock(side_effect=ValueError("stopped SparkContext")), "stopped SparkContext"),
    ],
    ids=["works", "hangs", "fails"],
)
def test_an_endpoint_ends_when_no_job_does_after_a_query_ran_out_of_memory(
    monkeypatch: pytest.MonkeyPatch, job: Callable[[], object], reason: str | None
) -> None:
    monkeypatch.setattr(server, "_USERS_EVERY", 0.01)
    monkeypatch.setattr(server, "_JOB_SECONDS", 0.1)
    stop = threading.Event()
    endpoint, users = Mock(), Mock()
    users.refresh.return_value = ()
    endpoint.ran_out_of_memory.side_effect = chain([True], repeat(False))
    threading.Timer(0.3, stop.set).start()
    serving = server.Server(endpoint, Mock(), users, Mock(), lambda _: None, time.time(), job)
    if reason is None:
        serving.run(stop)
    else:
        with pytest.raises(ExternalError) as caught:
            serving.run(stop)
        assert (caught.value.condition, caught.value.facts["reason"]) == ("SQL_ENDPOINT_STUCK", reason)
    endpoint.stop.assert_called_once_with()
