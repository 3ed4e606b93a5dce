"""Runs the orders benchmark: `python -m benchmarks.orders [--rows N] [--systems A,B] [--repeat N]`."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.measure import ProgramFailedError, measure, measure_here
from benchmarks.orders.check import problems
from benchmarks.orders.generator import FILES, generate
from benchmarks.orders.systems import SYSTEMS
from benchmarks.session import is_shared
from penstock.spark.session.setup import prefetch

FULL = 1_000_000


def main() -> int:
    given = _arguments()
    prefetch(print)  # otherwise the first run makes the class archive beside itself
    data = given.work / f"data-{given.rows}-{given.files}"
    print(f"input: {given.rows:,} orders in {given.files} files", flush=True)
    truth = generate(data, given.rows, given.files)
    runs: list[dict[str, Any]] = []
    for repetition in range(given.repeat):
        for system in given.systems:  # in turn, so that a slow minute of the machine does not fall on one system
            runs.append(_run(system, repetition, data / "orders", truth, given.work))
            print(_line(runs[-1]), flush=True)
    arguments = {name: value for name, value in vars(given).items() if not isinstance(value, Path)}
    publish("orders", arguments, runs, given.results)
    return 0 if all(run["correct"] for run in runs) else 1


def _run(system: str, repetition: int, source: Path, truth: Any, work: Path) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix=f"{system}-", dir=work))
    run: dict[str, Any] = {"system": system, "repetition": repetition, "rows": truth.bronze_rows, "correct": False}
    program = SYSTEMS[system](source, folder)
    try:
        if is_shared() and program.here:
            measured = measure_here(program.here)
        else:
            measured = measure(program.command, cwd=program.folder, log=folder / "log.txt", environ=program.environ)
        wrong = problems(program.tables, truth)
        run.update(asdict(measured), correct=not wrong, problems=wrong)
        run["rows_per_second"] = round(truth.bronze_rows / measured.seconds)
    except (ProgramFailedError, OSError) as error:
        run["problems"] = [str(error)]
    if run["correct"]:
        shutil.rmtree(folder)
    return run


def _line(run: dict[str, Any]) -> str:
    if not run["correct"]:
        return f"{run['system']}: WRONG\n  " + "\n  ".join(run["problems"])
    return f"{run['system']}: {run['seconds']:.1f} s, {run['peak_memory_mb']:.0f} MB at most, tables right"


def _arguments() -> argparse.Namespace:
    parser = parser_of("orders", __doc__)
    parser.add_argument("--rows", type=int, default=FULL, help=f"default {FULL:,}; 20000 is a quick look")
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--repeat", type=int, default=1, help="runs of each system; the table shows the median")
    parser.add_argument("--systems", type=_systems, default=list(SYSTEMS), help=f"some of {','.join(SYSTEMS)}")
    return parse(parser)


def _systems(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(SYSTEMS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}")
    return names


if __name__ == "__main__":
    raise SystemExit(main())
