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
from benchmarks.commands import penstock, with_spark
from benchmarks.compare import publish
from benchmarks.differences import require_none
from benchmarks.orders.systems import ROOT
from benchmarks.startup.check import problems
from benchmarks.startup.large_pipeline import write_pipeline


@dataclass(frozen=True, slots=True)
class Timing:
    """One thing to time: `seconds` does it once and returns how long it took; `goal` is in seconds."""

    what: str
    goal: float
    seconds: Callable[[], float]


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="startup-", dir=given.work) as folder:
        recorded = Path(folder) / "recorded"
        timings = _timings(Path(folder), recorded, given.tables)
        runs = [_timed(timing, given.repeat, given.warm_up) for timing in timings]
        require_none(problems(recorded))
    publish("startup", {name: getattr(given, name) for name in ("repeat", "warm_up", "tables")}, runs, given.results)
    return 0


def _timings(folder: Path, recorded: Path, tables: int) -> list[Timing]:
    large, large_sql = folder / "large", folder / "large_sql"
    write_pipeline(large, tables)
    write_pipeline(large_sql, tables, sql=True)
    penstock("init", str(recorded))
    penstock("setup")  # makes the class archive, so that what follows is warm
    with_spark("run", recorded)
    return [
        Timing("penstock --help", 0.5, lambda: penstock("--help")),
        Timing("penstock status", 0.5, lambda: penstock("status", str(recorded), "--json")),
        Timing("session start, warm", 4.0, _session_start),
        Timing(f"penstock validate, {tables} tables", 10.0, lambda: with_spark("validate", large)),
        Timing(f"penstock validate, {tables} in SQL", 10.0, lambda: with_spark("validate", large_sql)),
        Timing("penstock run, nothing new", 15.0, lambda: with_spark("run", recorded)),
    ]


def _timed(timing: Timing, repeat: int, warm_up: int) -> dict[str, object]:
    for _ in range(warm_up):  # byte code, file cache, class archive
        timing.seconds()
    seconds = [round(timing.seconds(), 3) for _ in range(repeat)]
    print(f"{timing.what}: {min(seconds):.2f} to {max(seconds):.2f} s", flush=True)
    return {"what": timing.what, "goal": timing.goal, "seconds": seconds}


def _session_start() -> float:
    command = [sys.executable, "-m", "benchmarks.startup.session_start"]
    started = time.time()  # the child's own idea of its start is wrong by up to a second: Linux rounds the boot time
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, cwd=ROOT)
    return float(done.stdout.split()[-1]) - started


def _arguments() -> argparse.Namespace:
    parser = parser_of("startup", __doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=1, help="how often each is done before, not measured")
    parser.add_argument("--tables", type=int, default=100)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
