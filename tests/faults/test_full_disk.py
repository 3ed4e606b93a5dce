"""The disk gets full in the middle of a run: the error names it, and once there is space the next run completes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.projects import OrdersProject, one_file_a_batch, orders_project

_DISK = 24 * 1024 * 1024


@pytest.fixture
def project(tmp_path: Path) -> Iterator[OrdersProject]:
    """The storage is a disk of its own, of a few megabytes in memory."""
    made = orders_project(tmp_path / "orders", files=4)
    one_file_a_batch(made)
    made.storage.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(made.storage)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a disk of its own needs the right to mount one: {mounted.stderr.strip()}")
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(made.storage)], check=True)


def _fill(project: OrdersProject, left: int) -> Path:
    """Takes all of the disk but so many bytes."""
    disk = os.statvfs(project.storage)
    ballast = project.storage / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(disk.f_bavail * disk.f_frsize - left, 1))
    return ballast


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("left", [0, 150_000, 400_000], ids=["at the start", "in the first batches", "later"])
def test_a_full_disk_is_named_and_nothing_is_lost(project: OrdersProject, left: int) -> None:
    penstock("run", project.directory).expect(0)
    project.drop_files(8)
    ballast = _fill(project, left)
    full = penstock("run", project.directory, "--json")
    assert full.exit_code == 1, full
    # Whatever meets the full disk first: a table or a checkpoint, or the event log.
    assert set(full.conditions) <= {"STORAGE_FULL", "EVENT_LOG_WRITE_FAILED"}, full
    assert str(project.storage) in full.errors[0]["message"] + full.errors[0]["fix"], full
    assert "space" in full.errors[0]["fix"].lower()
    assert "Traceback" not in full.stderr
    ballast.unlink()
    penstock("run", project.directory).expect(0)
    project.assert_tables()
    assert penstock("checkpoint", "verify", project.directory, "--json").expect(0).document["findings"] == []
