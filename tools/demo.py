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

from penstock.events import Level
from penstock.events.log.reader import EventReader

ROOT = Path(__file__).resolve().parent.parent
DEMO = Path(".demo")  # below ROOT, which is the current folder from the start
PROJECT = DEMO / "orders"
PENSTOCK = [sys.executable, "-m", "penstock.cli"]
GRACE_SECONDS = 30
STOP_SECONDS = 300  # a first batch on a busy machine takes its time


def main() -> int:
    seconds = float(os.environ.get("DEMO_SECONDS") or 60)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    os.chdir(ROOT)
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    step(f"A new project in {PROJECT}, with its first files of orders")
    subprocess.run([*PENSTOCK, "init", str(PROJECT)], check=True, capture_output=True)
    penstock("setup", check=True)

    with ExitStack() as running:
        dashboard = running.enter_context(
            process([*PENSTOCK, "ui", str(PROJECT), "--port", "0"], stdout=subprocess.PIPE)
        )
        step(first_line(dashboard) or "The dashboard did not start; the demo goes on without it.")
        generator = running.enter_context(process(generate(), stderr=subprocess.DEVNULL))
        step(f"Running for {seconds:.0f} seconds while orders arrive; some of them are bad on purpose")
        run = running.enter_context(process([*PENSTOCK, "run", str(PROJECT), "--continuous", "--trigger", "2 seconds"]))
        wait_for_batches(run, seconds)
        generator.terminate()  # a file of it is whole or not there; SIGINT is ignored by what a script starts with "&"
        if run.poll() is not None:
            return run.returncode or 1
        step("No more orders come: stopping after the current batch")
        run.send_signal(signal.SIGTERM)
        if run.wait(timeout=STOP_SECONDS):
            return run.returncode
        generator.wait(timeout=GRACE_SECONDS)
        step("One more run, to the end of the data; it reads only what is new")
        if penstock("run", str(PROJECT)).returncode:
            return 1

    step("What sold best, and the hours that are over")
    penstock("show", "top_products", str(PROJECT), "--sort", "revenue", "--descending", "--limit", "5")
    penstock("show", "hourly_revenue", str(PROJECT), "--sort", "hour", "--descending", "--limit", "5")
    step("Rows and data quality")
    penstock("status", str(PROJECT))
    if not matches_truth():
        return 1
    command = os.path.relpath(Path(sys.executable).parent / "penstock")
    tries = [
        (f"{command} ui {PROJECT}", "the dashboard again"),
        (f"{command} graph {PROJECT}", "who reads what"),
        (f"{command} run {PROJECT} --full-refresh-all", "all of it again, from the files"),
        (f"edit {PROJECT}/transformations/orders.py", f"then: {command} plan {PROJECT}"),
        ("docs/tutorial.md", "the same, explained step by step"),
    ]
    step("Try next")
    sys.stdout.writelines(f"  {what:<60} {why}\n" for what, why in tries)
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


def wait_for_batches(run: subprocess.Popen[str], seconds: float) -> None:
    """Waits until `seconds` after the first committed batch, or until the run ends by itself."""
    log = EventReader(str(PROJECT / ".penstock"))
    end = None
    while run.poll() is None and (end is None or time.monotonic() < end):
        if end is None and any(event.level is Level.METRICS for event in log.poll()):
            end = time.monotonic() + seconds
        time.sleep(0.2)


def step(text: str) -> None:
    sys.stdout.write(f"\n== {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
