"""Times how soon Penstock answers: `python -m benchmarks.startup [--repeat N] [--tables N]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.orders.systems import ROOT
from benchmarks.startup.large_pipeline import write_pipeline

_PENSTOCK = (sys.executable, "-m", "penstock.cli")


@dataclass(frozen=True, slots=True)
class Timing:
    """One thing to time: `seconds` does it once and returns how long it took; `goal` is in seconds."""

    what: str
    goal: float
    seconds: Callable[[], float]


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="startup-", dir=given.work) as folder:
        runs = [_timed(timing, given.repeat) for timing in _timings(Path(folder), given.tables)]
    publish("startup", {"repeat": given.repeat, "tables": given.tables}, runs, given.results)
    return 0


def _timings(folder: Path, tables: int) -> list[Timing]:
    large, large_sql = folder / "large", folder / "large_sql"
    write_pipeline(large, tables)
    write_pipeline(large_sql, tables, sql=True)
    recorded = folder / "recorded"
    _do([*_PENSTOCK, "init", str(recorded)])
    _do([*_PENSTOCK, "setup"])  # makes the class archive, so that what follows is warm
    _do([*_PENSTOCK, "run", str(recorded)])
    return [
        Timing("penstock --help", 0.5, lambda: _do([*_PENSTOCK, "--help"])),
        Timing("penstock status", 0.5, lambda: _do([*_PENSTOCK, "status", str(recorded), "--json"])),
        Timing("session start, warm", 4.0, _session_start),
        Timing(f"penstock validate, {tables} tables", 10.0, lambda: _do([*_PENSTOCK, "validate", str(large)])),
        Timing(f"penstock validate, {tables} in SQL", 10.0, lambda: _do([*_PENSTOCK, "validate", str(large_sql)])),
        Timing("penstock run, nothing new", 15.0, lambda: _do([*_PENSTOCK, "run", str(recorded)])),
    ]


def _timed(timing: Timing, repeat: int) -> dict[str, object]:
    timing.seconds()  # once unmeasured: byte code, file cache, class archive
    seconds = [round(timing.seconds(), 3) for _ in range(repeat)]
    print(f"{timing.what}: {min(seconds):.2f} to {max(seconds):.2f} s", flush=True)
    return {"what": timing.what, "goal": timing.goal, "seconds": seconds}


def _do(command: list[str]) -> float:
    started = time.monotonic()
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    seconds = time.monotonic() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-3000:]}")
    return seconds


def _session_start() -> float:
    command = [sys.executable, "-m", "benchmarks.startup.session_start"]
    started = time.time()  # the child's own idea of its start is wrong by up to a second: Linux rounds the boot time
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, cwd=ROOT)
    return float(done.stdout.split()[-1]) - started


def _arguments() -> argparse.Namespace:
    parser = parser_of("startup", __doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tables", type=int, default=100)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
