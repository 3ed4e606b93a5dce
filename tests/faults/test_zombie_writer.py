"""A run that was frozen while another took over its storage wakes up: it ends, and has written nothing."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from tests.cli_runner import penstock, running
from tests.processes import family, wait_until
from tests.projects import OrdersProject, one_file_a_batch, orders_project

from penstock.storage import StorageLayout
from penstock.storage.lock import STALE_SECONDS

_FILES = 12
_TAKEN_OVER_AFTER = STALE_SECONDS + 1  # no other machine does it earlier


@pytest.fixture
def project(tmp_path: Path) -> OrdersProject:
    made = orders_project(tmp_path / "orders", files=_FILES)
    one_file_a_batch(made)
    return made


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_frozen_run_that_wakes_up_writes_nothing(project: OrdersProject) -> None:
    commits = project.table("bronze_orders") / "_delta_log"
    with running("run", project.directory, "--json") as frozen:
        frozen.wait_for(lambda: len(list(commits.glob("*.json"))) > 3, what="three batches")
        frozen.jvm()
        members = family(frozen.pid)
        for member in members:
            member.suspend()
        wait_until(lambda: all(map(_is_frozen, members)), timeout=10, what="the run to freeze")
        refused = penstock("run", project.directory, "--json").expect(3)
        assert refused.conditions == ["STORAGE_LOCKED"], "on its own machine a frozen run is alive"
        frozen_at = time.monotonic()
        _seem_to_be_elsewhere(project)
        penstock("run", project.directory).expect(0)
        project.assert_tables()
        before = _files(project)
        time.sleep(max(0.0, frozen_at + _TAKEN_OVER_AFTER - time.monotonic()))
        for member in members:
            member.send_signal(signal.SIGCONT)
        outcome = frozen.wait(120)
    # The heartbeat notices it within ten seconds; a batch that begins before finds its number taken.
    said = {"STORAGE_LOCK_LOST", "CHECKPOINT_WRITTEN_BY_ANOTHER", "TABLE_CONFLICT"}
    assert outcome.exit_code in {1, 3}, outcome
    assert any(f"[{condition}]" in outcome.stderr for condition in said), outcome
    assert "Traceback" not in outcome.stderr, outcome
    project.assert_tables()
    assert _files(project) == before
    project.drop_files(1)
    penstock("run", project.directory).expect(0)
    project.assert_tables()
    assert penstock("checkpoint", "verify", project.directory, "--json").expect(0).document["findings"] == []


def _is_frozen(process: psutil.Process) -> bool:
    return process.status() in {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE}


def _seem_to_be_elsewhere(project: OrdersProject) -> None:
    """As if the frozen run were on another machine, which has given no sign of life for two minutes."""
    lock = Path(StorageLayout(str(project.storage)).lock)
    holder = json.loads(lock.read_text())
    holder["machine"] = "another"
    holder["heartbeat"] = (datetime.now(UTC) - timedelta(minutes=2)).isoformat()
    lock.write_text(json.dumps(holder))


def _files(project: OrdersProject) -> set[str]:
    """The commits of all tables, and the logs of all checkpoints."""
    logs = ("tables/**/_delta_log/*.json", "checkpoints/**/offsets/*", "checkpoints/**/commits/*")
    return {str(path) for pattern in logs for path in project.storage.glob(pattern)}
