"""kill -9 in the middle of a run: the next run ends with the tables of a run that nobody disturbed."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest
from tests.cli_runner import Running, penstock, running
from tests.processes import wait_until
from tests.projects import OrdersProject, one_file_a_batch, orders_project

pytestmark = pytest.mark.usefixtures("one_process")

_FILES = 8
_JVM_GONE_SECONDS = 10.0


@pytest.fixture
def project(tmp_path: Path) -> OrdersProject:
    made = orders_project(tmp_path / "orders", files=_FILES)
    made.add_settings("master: local[4]")  # flows overlap as on a larger machine: silver follows bronze
    one_file_a_batch(made)
    return made


def _batches(project: OrdersProject, dataset: str) -> int:
    """Counts the batches in the event log; reads the files, because a command takes longer than a batch."""
    segments = (project.storage / "events").glob("*.jsonl") if project.storage.exists() else ()
    lines = [line for segment in segments for line in segment.read_text().splitlines()]
    return sum('"METRICS"' in line and '"flow_progress"' in line and f".{dataset}" in line for line in lines)


def _wait_for_batches(command: Running, project: OrdersProject, dataset: str, count: int) -> None:
    command.wait_for(lambda: _batches(project, dataset) >= count, what=f"{count} batches of {dataset}")


def _run_again(project: OrdersProject) -> None:
    """Runs to the end, then once more: the first completes the tables, the second finds nothing to do."""
    penstock("run", project.directory).expect(0)
    project.assert_tables()
    project.drop_files(1)
    penstock("run", project.directory).expect(0)
    project.assert_tables()


@pytest.mark.slow  # test_quarantine_kill.py kills Python, test_crash_points.py both, with six kinds of flows
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("dataset", "batches"),
    [("bronze_orders", 1), ("bronze_orders", 6), ("silver_orders", 2), ("hourly_revenue", 1)],
)
def test_python_is_killed(project: OrdersProject, dataset: str, batches: int) -> None:
    with running("run", project.directory) as command:
        _wait_for_batches(command, project, dataset, batches)
        jvm = command.jvm()
        command.signal(signal.SIGKILL)
        wait_until(lambda: _is_gone(jvm), timeout=_JVM_GONE_SECONDS, what="the JVM to end with its Python")
        assert command.wait().exit_code == -signal.SIGKILL
    _run_again(project)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("dataset", "batches"),
    [("bronze_orders", 2), ("silver_orders", 3)],
)
@pytest.mark.slow
def test_the_jvm_is_killed(project: OrdersProject, dataset: str, batches: int) -> None:
    with running("run", project.directory, "--json") as command:
        _wait_for_batches(command, project, dataset, batches)
        command.jvm().kill()
        outcome = command.wait(60).expect(1)
    assert "JVM_DIED" in outcome.conditions
    assert "Traceback" not in outcome.stderr
    _run_again(project)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_jvm_is_killed_while_the_pipeline_is_analysed(project: OrdersProject) -> None:
    with running("run", project.directory, "--json") as command:
        command.wait_for(lambda: "INITIALIZING" in _events(project), what="the analysis", timeout=120)
        command.jvm().kill()
        outcome = command.wait(60).expect(1)
    assert outcome.conditions == ["JVM_DIED"], "once, not for each dataset"
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_both_are_killed_and_the_status_says_so(project: OrdersProject) -> None:
    with running("run", project.directory) as command:
        _wait_for_batches(command, project, "bronze_orders", 2)
        assert _batches(project, "bronze_orders") < _FILES
        command.jvm().kill()
        command.signal(signal.SIGKILL)
        command.wait()
    update = penstock("status", project.directory, "--json").expect(0).document["update"]
    assert update["state"] == "FAILED"
    assert update["error"]["condition"] == "UPDATE_INTERRUPTED"
    _run_again(project)


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def _events(project: OrdersProject) -> str:
    return "".join(each.read_text() for each in (project.storage / "events").glob("*.jsonl"))
