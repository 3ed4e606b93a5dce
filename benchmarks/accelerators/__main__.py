"""Times what each accelerator speeds up, with it and without it: `python -m benchmarks.accelerators [NAME …]`.

Each turn is a process of its own with one accelerator off and all others on, and one with all of them on; which of the
two comes first alternates. Measured is only the work, once it is warm, by the clock and of the processors; for the
class archive it is the whole process that starts a session. What is saved is the median over the turns. An accelerator
that saves less than 3 % of both is not worth its private parts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.accelerators.turn import START, measured
from benchmarks.accelerators.workloads import Sizes
from benchmarks.arguments import parse, parser_of
from benchmarks.commands import penstock
from benchmarks.compare import publish
from benchmarks.measure import measure
from benchmarks.orders.systems import ROOT
from benchmarks.session import is_shared, shared_session
from penstock.spark.accelerators.accelerator import ACCELERATORS

GOAL: Final = 3.0
SPEEDS_UP: Final = {
    "class_archive": (START,),
    "gateway_lookups": ("analysis", "small_batches"),
    "tcp_quickack": ("analysis", "small_batches"),
    "hadoop_conf": ("small_batches",),
    "known_transactions": ("small_batches",),
    "known_state": ("views",),
    "log_checkpoints": ("small_batches",),
    "file_listing": ("arriving_files",),
    "read_files_log": ("arriving_files",),
    "table_changes": ("views",),
    "json_inference": ("inference",),
}
"""The workloads of each accelerator."""


def main() -> int:
    given = _arguments()
    sizes = Sizes(given.tables, given.batches, given.files, given.rows)
    runs = []
    if not is_shared():
        penstock("setup")  # makes the class archive
    for name in given.names or ACCELERATORS:
        for workload in SPEEDS_UP[name]:
            if is_shared() and workload == START:
                continue
            runs.append(_compared(name, workload, given, sizes))
            print(json.dumps(runs[-1]), flush=True)
    names = ("names", "turns", "tables", "batches", "files", "rows")
    publish("accelerators", {name: getattr(given, name) for name in names}, runs, given.results)
    return 0


def _compared(name: str, workload: str, given: argparse.Namespace, sizes: Sizes) -> dict[str, Any]:
    taken: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
    if is_shared():  # its accelerators are as they are: this only shows that the work can be done
        once = measured(shared_session(), workload, given.work, sizes)
        taken = {"on": [once], "off": [once]}
    for number in range(0 if is_shared() else given.turns):
        for state in ("on", "off") if number % 2 else ("off", "on"):
            taken[state].append(_turn(workload, name, state, given.work, sizes))
    clock, processor = (
        [100 * (1 - on[which] / max(off[which], 0.01)) for on, off in zip(taken["on"], taken["off"], strict=True)]
        for which in (0, 1)
    )
    return {
        "what": f"{name}: {workload}",
        "seconds": [seconds for seconds, _ in taken["on"]],
        "seconds_off": [seconds for seconds, _ in taken["off"]],
        "processor_seconds": [seconds for _, seconds in taken["on"]],
        "processor_seconds_off": [seconds for _, seconds in taken["off"]],
        "saved": round(statistics.median(clock), 1),
        "processor_saved": round(statistics.median(processor), 1),
        "goal": GOAL,
    }


def _turn(workload: str, name: str, state: str, work: Path, sizes: Sizes) -> tuple[float, float]:
    numbers = map(str, (sizes.tables, sizes.batches, sizes.files, sizes.rows))
    command = [sys.executable, "-m", "benchmarks.accelerators.turn", workload, name, state, str(work), *numbers]
    if workload == START:
        whole = measure(command, cwd=ROOT, log=work / "accelerators.log")
        return whole.seconds, whole.cpu_seconds
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3600, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stderr[-3000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    return result["seconds"], result["processor_seconds"]


def _arguments() -> argparse.Namespace:
    parser = parser_of("accelerators", __doc__)
    parser.add_argument("names", nargs="*", choices=[*ACCELERATORS, []], help="of the accelerators; all without one")
    parser.add_argument("--turns", type=int, default=4, help="each with and without it")
    parser.add_argument("--tables", type=int, default=100, help="of the pipeline that is analysed")
    parser.add_argument("--batches", type=int, default=110, help="of ten rows, or of one file")
    parser.add_argument("--files", type=int, default=20_000, help="that Auto Loader has read before")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of JSON from which columns are inferred")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
