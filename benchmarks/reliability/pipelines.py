"""The pipelines of this benchmark, and the programs that run them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.commands import PENSTOCK, continuous_here
from benchmarks.session import is_shared

_ONE_FLOW = """\
import penstock as ps


@ps.table
@ps.expect_or_drop("positive", "value >= 0")
def numbers():
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
"""

_PATIENCE = 3600.0
_LOOK_EVERY = 0.02


def write_one_flow(folder: Path) -> Path:
    """Writes a pipeline whose one flow always has a next batch of 100 rows; returns its folder."""
    folder.mkdir(parents=True)
    (folder / "penstock.yml").write_text("name: safe\nschema: bench\n")
    (folder / "pipeline.py").write_text(_ONE_FLOW)
    return folder


def versions(project: Path) -> int:
    """Returns how many versions the flow's table has by now."""
    log = project / ".penstock" / "tables" / "bench" / "numbers" / "_delta_log"
    newest = max((name for name in os.listdir(log) if name.endswith(".json")), default=None) if log.exists() else None
    return 0 if newest is None else int(newest.removesuffix(".json")) + 1


def batch_seconds(project: Path) -> dict[int, float]:
    """Returns how long each batch of the flow took, by its number, as the event log tells."""
    from penstock.events import read_events

    found = {}
    for event in read_events(str(project / ".penstock")):
        metrics = event.details.get("flow_progress", {}).get("metrics")
        if metrics is not None and event.origin.batch_id is not None:
            found[event.origin.batch_id] = metrics["batch_duration_ms"] / 1000
    return found


@contextmanager
def continuous(project: Path, *, ends: signal.Signals) -> Iterator[Callable[[], bool]]:
    """A continuous run, which gets the signal `ends` at the end; SIGKILL for its JVM as well.

    Gives whether it still goes on. A run that is not killed takes the shared session, if there is one.
    """
    if is_shared() and ends is not signal.SIGKILL:
        with continuous_here(project) as goes_on:
            yield goes_on
        return
    with (project / "run.log").open("ab") as log:
        started = subprocess.Popen([*PENSTOCK, "run", str(project), "--continuous"], stdout=log, stderr=log)
    process = psutil.Process(started.pid)
    try:
        yield lambda: process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    finally:
        family = [process, *process.children(recursive=True)] if ends is signal.SIGKILL else [process]
        for member in family:
            with suppress(psutil.NoSuchProcess):  # a JVM ends by itself when its Python is gone
                member.send_signal(ends)
        started.wait(timeout=120)


def seconds_until(reached: Callable[[], bool], goes_on: Callable[[], bool]) -> float:
    """Waits until something is so and returns how long that took; the end of the program ends the benchmark."""
    started = time.monotonic()
    while not reached():
        if not goes_on():
            raise SystemExit("the run has ended by itself; see its run.log")
        if time.monotonic() - started > _PATIENCE:
            raise SystemExit(f"not reached in {_PATIENCE:.0f} s")
        time.sleep(_LOOK_EVERY)
    return time.monotonic() - started
