"""SIGTERM and Ctrl-C end a run in any state: while Spark starts, while a cluster is silent, while the JVM hangs."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.cli_runner import Outcome, Running, penstock, running
from tests.faults.killing import wait_for_event
from tests.oracle.tables import read_table, stored
from tests.processes import wait_until

from penstock.events import EventType, read_events

pytestmark = pytest.mark.usefixtures("one_process")

_STOP_TIMEOUT = 2.0
_IN_TIME = 20.0
"""The end of a process after its time, on a machine that is busy."""

_ACTIONS = {EventType.USER_ACTION}
ONCE, TWICE = 1, 2


class Small:
    """A pipeline of one table, which files fill."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.storage = directory / ".penstock"
        (directory / "in").mkdir(parents=True)
        (directory / "pipeline.py").write_text(
            "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"
        )
        self.settings("")

    def settings(self, more: str) -> None:
        (self.directory / "penstock.yml").write_text(f"name: small\nstop_timeout: {_STOP_TIMEOUT:.0f} seconds\n{more}")

    def arrive(self, number: int) -> None:
        (self.directory / "in" / f"{number}.json").write_text(f'{{"id": {number}}}\n')


@pytest.fixture
def project(tmp_path: Path) -> Small:
    return Small(tmp_path / "small")


@pytest.fixture
def silent_master() -> Iterator[str]:
    """A cluster that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"spark://127.0.0.1:{server.getsockname()[1]}"


def end(command: Running, number: signal.Signals, times: int) -> Outcome:
    """Sends the signal so often, and expects the end of Python and of its JVM."""
    jvm = command.jvm()
    began = time.monotonic()
    for _ in range(times):
        command.signal(number)
        time.sleep(0.3)
    outcome = command.wait(60).expect(128 + number)
    assert time.monotonic() - began < _IN_TIME, outcome
    assert "Traceback" not in outcome.stderr, outcome
    wait_until(lambda: not _runs(jvm), timeout=_IN_TIME, what="the end of the JVM")
    return outcome


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("times", [ONCE, pytest.param(TWICE, marks=pytest.mark.slow)])
def test_a_run_that_waits_for_a_silent_cluster_ends(project: Small, silent_master: str, times: int) -> None:
    project.settings(f"master: {silent_master}")
    with running("run", project.directory) as command:
        wait_for_event("WAITING_FOR_RESOURCES", command, project.storage, [])
        command.jvm()
        time.sleep(3)  # Spark tries for a minute
        end(command, signal.SIGTERM, times)


def test_a_run_whose_jvm_hangs_ends_and_the_next_one_goes_on(project: Small) -> None:
    project.arrive(1)
    with running("run", project.directory, "--continuous") as command:
        wait_for_event('"metrics\\"', command, project.storage, [])
        command.jvm().suspend()
        project.arrive(2)
        time.sleep(1)  # calls wait for it
        end(command, signal.SIGTERM, ONCE)
    actions = [each.details["user_action"]["action"] for each in read_events(str(project.storage), types=_ACTIONS)]
    assert actions == ["START", "STOP"]
    penstock("run", project.directory).expect(0)
    assert sorted(row["id"] for row in read_table(stored(project.storage, "default", "rows"))) == [1, 2]


@pytest.mark.slow
def test_a_run_ends_while_its_jvm_starts(project: Small) -> None:
    with running("run", project.directory) as command:
        command.jvm().suspend()  # whatever it is doing
        wait_for_event("WAITING_FOR_RESOURCES", command, project.storage, [])
        end(command, signal.SIGTERM, ONCE)


@pytest.mark.slow
def test_a_script_whose_jvm_hangs_ends(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"id": 1}\n')
    script = tmp_path / "app.py"
    script.write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[2]').getOrCreate()\n"
        "rows = spark.readStream.schema('id LONG').json('in')\n"
        "query = rows.writeStream.option('checkpointLocation', 'at').format('delta').start('out')\n"
        "try:\n"
        "    query.awaitTermination()\n"
        "finally:\n"
        "    query.stop()\n"
    )
    with running("script", script, cwd=tmp_path) as command:
        command.wait_for((tmp_path / "at/commits/0").exists, what="a batch", timeout=200)
        command.jvm().suspend()
        time.sleep(1)
        end(command, signal.SIGTERM, TWICE)
