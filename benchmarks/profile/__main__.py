"""Says where the time of `penstock run` goes: `python -m benchmarks.profile [--rows N] [--files N]`.

It runs the pipeline of the orders benchmark with Java Flight Recorder, and draws a flame graph. Many files with few
rows, `--files-per-batch 1`, show what a small batch costs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.measure import measure
from benchmarks.orders.generator import FILES, generate
from benchmarks.orders.systems import penstock
from benchmarks.profile.flames import draw
from benchmarks.profile.layers import by_layer
from benchmarks.profile.recording import environment, stacks
from benchmarks.profile.threads import JAVA, ThreadTimes
from penstock.spark.session.setup import prefetch


def main() -> int:
    given = _arguments()
    prefetch(print)  # otherwise the run makes the class archive beside itself
    with tempfile.TemporaryDirectory(prefix="profile-", dir=given.work) as folder:
        runs, drawn = _profile(Path(folder), given)
    given.flames.parent.mkdir(parents=True, exist_ok=True)
    given.flames.write_text(drawn)
    arguments = {name: getattr(given, name) for name in ("rows", "files", "files_per_batch")}
    publish("profile", arguments, runs, given.results)
    print(f"flame graph: {given.flames}")
    return 0


def _profile(folder: Path, given: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    recording = folder / "run.jfr"
    generate(folder / "data", given.rows, given.files)
    program = penstock(folder / "data" / "orders", folder / "run")
    command = [*program.command, "--set", f"files_per_batch={given.files_per_batch}"]
    with ThreadTimes() as threads:
        measured = measure(command, cwd=program.folder, log=folder / "log.txt", environ=environment(recording))
    seconds_of = threads.by_kind()
    seen = stacks(recording)
    per_sample = seconds_of[JAVA] / seen.total()
    for kind, used in seconds_of.items():
        if kind != JAVA:
            seen[kind,] = round(used / per_sample)  # as wide beside the methods as the processor time that it took
    idle = max(0.0, measured.seconds * (os.cpu_count() or 1) - measured.cpu_seconds)
    parts = [
        ("wall time", measured.seconds),
        ("processors, all", measured.cpu_seconds),
        ("processors not used by it", idle),
    ]
    parts += [(layer, samples * per_sample) for layer, samples in by_layer(seen).most_common()]
    runs = [{"what": what, "value": round(used, 2), "unit": "s", "goal": None} for what, used in parts]
    batches = given.files // given.files_per_batch
    title = f"penstock run, {given.rows:,} orders, three flows of about {batches} batches, {measured.cpu_seconds:.0f} s"
    return runs, draw(seen, f"{title} of the processors")


def _arguments() -> argparse.Namespace:
    parser = parser_of("profile", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--files-per-batch", type=int, default=2)
    parser.add_argument("--flames", type=Path, help="file for the flame graph; default: flames.svg in --work")
    given = parse(parser)
    given.flames = given.flames or given.work / "flames.svg"
    return given


if __name__ == "__main__":
    raise SystemExit(main())
