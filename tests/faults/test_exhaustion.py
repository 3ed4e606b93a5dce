"""No file descriptor and no thread is left for some seconds: a run goes on afterwards, or has ended by name."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from tests.cli_runner import Running, penstock, running
from tests.faults.killing import wait_for_event
from tests.oracle.tables import read_table, stored

from penstock.events import EventType, FlowStatus, batch_progress_of, flow_status_of, read_events
from penstock.storage.lock import HEARTBEAT_SECONDS

pytestmark = pytest.mark.usefixtures("one_process")

_NO_THREAD = Path("no thread")
_FAILING = """
import pathlib, threading

start = threading.Thread.start

def fail(thread):
    if pathlib.Path("no thread").exists():
        raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = fail
"""
_PIPELINE = """
import dlt

@dlt.table
def rows():
    return spark.readStream.schema('id LONG').json('in')
"""


class _Project:
    """A pipeline of one table, which files fill; no thread starts while there is a file `no thread`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.storage = directory / ".penstock"
        (directory / "in").mkdir(parents=True)
        (directory / "pipeline.py").write_text(_FAILING + _PIPELINE)
        (directory / "penstock.yml").write_text("name: small\nretries: {first_delay: 1 second}\n")

    def arrive(self, number: int) -> None:
        (self.directory / "in" / f"{number}.json").write_text(f'{{"id": {number}}}\n')

    def rows(self) -> list[int]:
        return sorted(row["id"] for row in read_table(stored(self.storage, "default", "rows")))

    def heartbeat(self) -> str:
        return str(json.loads((self.storage / "lock.json").read_text())["heartbeat"])

    def rows_in_events(self) -> int:
        metrics = filter(None, map(batch_progress_of, read_events(str(self.storage))))
        return sum(each.num_output_rows or 0 for each in metrics)


@pytest.fixture
def project(tmp_path: Path) -> _Project:
    made = _Project(tmp_path / "small")
    made.arrive(1)
    return made


@pytest.mark.timeout(400)
@pytest.mark.parametrize("scarce", ["descriptors", pytest.param("threads", marks=pytest.mark.slow)])
def test_a_run_without_them_for_some_seconds_goes_on_or_ends_by_name(project: _Project, scarce: str) -> None:
    with running("run", project.directory, "--continuous") as command:
        wait_for_event('"metrics\\"', command, project.storage, [])
        allowed = resource.prlimit(command.pid, resource.RLIMIT_NOFILE)
        if scarce == "descriptors":
            resource.prlimit(command.pid, resource.RLIMIT_NOFILE, (3, allowed[1]))
        else:
            (project.directory / _NO_THREAD).touch()
        project.arrive(2)
        time.sleep(HEARTBEAT_SECONDS + 3)
        before = project.heartbeat() if _runs(command) else ""
        if _runs(command):
            resource.prlimit(command.pid, resource.RLIMIT_NOFILE, allowed)
        (project.directory / _NO_THREAD).unlink(missing_ok=True)
        project.arrive(3)
        deadline = time.monotonic() + 60
        while _runs(command) and (project.rows() != [1, 2, 3] or project.heartbeat() == before):
            assert time.monotonic() < deadline, "neither went on nor ended"
            time.sleep(0.5)
        if _runs(command):
            command.signal(signal.SIGTERM)
            command.wait(60).expect(0)
            assert project.rows_in_events() == 3, "a batch is in no event"
        else:
            outcome = command.wait(5).expect(1)
            assert "_EXHAUSTED]" in outcome.stderr, outcome
            assert "Traceback" not in outcome.stderr, outcome
    statuses = [flow_status_of(e) for e in read_events(str(project.storage), types={EventType.FLOW_PROGRESS})]
    assert [each for each in statuses if each is not None][-1] in {FlowStatus.FAILED, FlowStatus.STOPPED}
    (project.directory / "pipeline.py").write_text(_PIPELINE)
    penstock("run", project.directory).expect(0)
    assert project.rows() == [1, 2, 3]


def _runs(command: Running) -> bool:
    return command.process.poll() is None and os.path.exists(f"/proc/{command.pid}")
