"""`make demo`: the orders pipeline on data that keeps arriving, for DEMO_SECONDS (60).

Writes the quickstart into .demo/orders, lets its generator drop files, serves the dashboard, runs the
pipeline continuously, catches up with one last run, and compares the tables with the generator's own truth.
Every process that it starts is ended, however it ends.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".demo"
PROJECT = DEMO / "orders"
PENSTOCK = [sys.executable, "-m", "penstock.cli"]
GRACE_SECONDS = 30


def main() -> int:
    seconds = float(os.environ.get("DEMO_SECONDS") or 60)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    step(f"A new project in {PROJECT.relative_to(ROOT)}, and its first files")
    penstock("init", str(PROJECT))
    penstock("setup", check=True)

    with ExitStack() as running:
        dashboard = running.enter_context(
            process([*PENSTOCK, "ui", str(PROJECT), "--port", "0"], stdout=subprocess.PIPE)
        )
        step(first_line(dashboard) or "The dashboard did not start; the demo goes on without it.")
        generator = running.enter_context(process(generate("--seconds", str(seconds)), stderr=subprocess.DEVNULL))
        step(f"Running for {seconds:.0f} seconds while orders arrive; some of them are bad on purpose")
        run = running.enter_context(process([*PENSTOCK, "run", str(PROJECT), "--continuous", "--trigger", "2 seconds"]))
        wait_until_any_ends(run, generator)
        if run.poll() is not None:
            return run.returncode or 1
        step("No more orders come: stopping after the current batch")
        run.send_signal(signal.SIGTERM)
        if run.wait(timeout=2 * GRACE_SECONDS):
            return run.returncode
        step("One more run, to the end of the data; it reads only what is new")
        if penstock("run", str(PROJECT)).returncode:
            return 1

    step("What sold best, and the hours that are over")
    penstock("show", "top_products", str(PROJECT), "--limit", "5")
    penstock("show", "hourly_revenue", str(PROJECT), "--limit", "5")
    step("Rows and data quality")
    penstock("status", str(PROJECT))
    if not matches_truth():
        return 1
    here = os.path.relpath(PROJECT)
    command = os.path.relpath(Path(sys.executable).parent / "penstock")
    sys.stdout.write(
        "\nTry next:\n"
        f"  {command} ui {here}                        the dashboard again\n"
        f"  {command} graph {here}                     who reads what\n"
        f"  {command} run {here} --full-refresh-all    all of it again, from the files\n"
        f"  edit {here}/transformations/orders.py, then: {command} plan {here}\n"
        "  docs/tutorial.md                 the same, explained step by step\n"
    )
    return 0


def matches_truth() -> bool:
    """Compares the tables with what the generator's seed says they must hold, and says so."""
    oracle = json.loads(subprocess.run(generate("--oracle"), check=True, capture_output=True, text=True).stdout)
    status = json_of("status")
    datasets = {dataset["name"].split(".")[-1]: dataset for dataset in status["datasets"]}
    silver = datasets["silver_orders"]
    found = {
        "bronze rows": datasets["bronze_orders"]["rows"],
        "silver rows": silver["rows"],
        "dropped": silver["dropped"],
        "expectations": {
            one["name"]: {"passed": one["passed"], "failed": one["failed"]} for one in silver["expectations"]
        },
        "top products": sorted(
            (row["product"], row["orders"], round(row["revenue"], 2)) for row in json_of("show", "top_products")
        ),
    }
    truth = {
        "bronze rows": oracle["bronze_orders"]["rows"],
        "silver rows": oracle["silver_orders"]["rows"],
        "dropped": oracle["silver_orders"]["dropped"],
        "expectations": oracle["silver_orders"]["expectations"],
        "top products": sorted((row["product"], row["orders"], row["revenue"]) for row in oracle["top_products"]),
    }
    wrong = {name: (found[name], truth[name]) for name in truth if found[name] != truth[name]}
    for name, (is_, should) in wrong.items():
        sys.stdout.write(f"WRONG {name}: {is_}, must be {should}\n")
    if not wrong:
        step(
            f"Correct: {oracle['lines']:,} lines = {oracle['silver_orders']['rows']:,} rows in silver "
            f"+ {oracle['silver_orders']['dropped']:,} dropped, as the generator's seed says"
        )
    return not wrong


def generate(*options: str) -> list[str]:
    return [sys.executable, str(PROJECT / "generate_orders.py"), *options]


def penstock(*words: str, check: bool = False) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PENSTOCK, *words], check=check)


def json_of(command: str, *words: str) -> Any:
    """Returns what a reporting command prints for --json."""
    done = subprocess.run(
        [*PENSTOCK, command, *words, str(PROJECT), "--json"], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


@contextmanager
def process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block: asked first, then killed."""
    started = subprocess.Popen(command, text=True, **options)
    try:
        yield started
    finally:
        if started.poll() is None:
            started.terminate()
            try:
                started.wait(timeout=GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


def first_line(started: subprocess.Popen[str]) -> str:
    """Returns the first line of a process's stdout, or nothing when it says none in time."""
    lines: list[str] = []
    assert started.stdout is not None
    reader = threading.Thread(
        target=lambda: lines.append(started.stdout.readline() if started.stdout else ""), daemon=True
    )
    reader.start()
    reader.join(timeout=GRACE_SECONDS)
    return lines[0].strip() if lines else ""


def wait_until_any_ends(*processes: subprocess.Popen[str]) -> None:
    while all(one.poll() is None for one in processes):
        time.sleep(0.2)


def step(text: str) -> None:
    sys.stdout.write(f"\n== {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
