"""What benchmarks measure of a program from the outside, and of what they call themselves."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from benchmarks.measure import ProgramFailedError, measure, measure_here

_WORK = "import time\ndata = bytearray(50_000_000)\nsum(range(5_000_000))\ntime.sleep(0.3)\n"


def test_a_program_is_measured_from_its_start_to_its_end(tmp_path: Path) -> None:
    found = measure([sys.executable, "-c", _WORK], cwd=tmp_path, log=tmp_path / "log")
    assert found.exit_code == 0
    assert found.seconds >= 0.3
    assert found.peak_memory_mb > 50
    assert found.peak_jvm_mb == 0
    assert found.cpu_seconds > 0


def test_a_program_that_fails_is_named_with_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailedError, match="exit code 3\nso it is"):
        measure([sys.executable, "-c", "print('so it is')\nexit(3)"], cwd=tmp_path, log=tmp_path / "log")


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailedError, match="no end after 0 s"):
        measure([sys.executable, "-c", "import time; time.sleep(60)"], cwd=tmp_path, log=tmp_path / "log", timeout=0.2)


def test_a_call_is_measured_without_what_came_before() -> None:
    def work() -> None:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    found = measure_here(work)
    assert found.seconds >= 0.2
    assert 0.1 <= found.cpu_seconds < found.seconds + 0.1
