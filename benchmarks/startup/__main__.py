"""Times how soon Penstock answers: `python -m benchmarks.startup [--repeat N] [--tables N]`."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.arguments import parse, parser_of
from benchmarks.commands import penstock, with_spark
from benchmarks.compare import publish
from benchmarks.differences import require_none
from benchmarks.orders.systems import ROOT
from benchmarks.startup.check import problems
from benchmarks.startup.large_pipeline import write_pipeline
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout


@dataclass(frozen=True, slots=True)
class Timing:
    """One thing to time: `seconds` does it once and returns how long it took; `goal` is in seconds."""

    what: str
    goal: float
    seconds: Callable[[], float]


def main() -> int:
    given = _arguments()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its byte code: half the time of `--help`
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
    million = folder / "million"
    _write_million(million)
    penstock("init", str(recorded))
    penstock("setup")  # makes the class archive, so that what follows is warm
    with_spark("run", recorded)
    return [
        Timing("penstock --help", 0.15, lambda: penstock("--help")),
        Timing("penstock checkpoint --help", 0.15, lambda: penstock("checkpoint", "--help")),
        Timing("penstock status", 0.25, lambda: penstock("status", str(recorded))),
        Timing("penstock status --json", 0.25, lambda: penstock("status", str(recorded), "--json")),
        Timing("penstock sql, DuckDB, 100 rows", 0.5, lambda: _by_duckdb(million, "small")),
        Timing("penstock sql, DuckDB, 1,000,000 rows", 0.5, lambda: _by_duckdb(million, "orders")),
        Timing("session start, warm", 4.0, _session_start),
        Timing(f"penstock validate, {tables} tables", 10.0, lambda: with_spark("validate", large)),
        Timing(f"penstock validate, {tables} in SQL", 10.0, lambda: with_spark("validate", large_sql)),
        Timing("penstock run, nothing new", 15.0, lambda: with_spark("run", recorded)),
        Timing("penstock dev, from save to validation", 0.5, lambda: _edits(folder)[0]),
        Timing("penstock dev, from save to results", 1.5, lambda: _edits(folder)[1]),
    ]


def _write_million(folder: Path) -> None:
    """Writes a project whose tables are there, without Spark."""
    folder.mkdir()
    (folder / "penstock.yml").write_text("name: million\nschema: shop\n")
    for name, count in (("small", 100), ("orders", 1_000_000)):
        ids = range(count)
        rows: dict[str, list[Any]] = {
            "id": list(ids),
            "amount": [each % 997 / 7 for each in ids],
            "status": [f"s{each % 5}" for each in ids],
        }
        place = StorageLayout(str(folder / ".penstock")).table(Identifier("shop", name))
        Path(place).mkdir(parents=True)
        write_deltalake(place, pa.table(rows))


def _by_duckdb(folder: Path, table: str) -> float:
    query = f"SELECT status, count(*), sum(amount) FROM {table} GROUP BY ALL"
    return penstock("sql", query, str(folder), "--engine", "duckdb", "--json")


def _timed(timing: Timing, repeat: int, warm_up: int) -> dict[str, object]:
    for _ in range(warm_up):  # byte code, file cache, class archive
        timing.seconds()
    seconds, processor_seconds = [], []
    for _ in range(repeat):
        before = _processor_seconds()
        seconds.append(round(timing.seconds(), 3))
        processor_seconds.append(round(_processor_seconds() - before, 3))
    print(f"{timing.what}: {min(seconds):.2f} to {max(seconds):.2f} s", flush=True)
    return {"what": timing.what, "goal": timing.goal, "seconds": seconds, "processor_seconds": processor_seconds}


def _processor_seconds() -> float:
    """Of children that have ended: on a busy machine it moves less than the seconds on the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _edits(folder: Path) -> tuple[float, float]:
    """Returns the medians of a session of edits: until the pipeline was validated, and until the results were there."""
    project = Path(tempfile.mkdtemp(prefix="edits-", dir=folder))
    penstock("init", str(project / "shop"))
    command = [sys.executable, "-m", "benchmarks.startup.edits", str(project / "shop")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, cwd=ROOT)
    validated, results = map(float, done.stdout.split()[-2:])
    return validated, results


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
