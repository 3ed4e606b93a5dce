"""Times what following a batch costs: `python -m benchmarks.event_log [--batches N] [--rows N]`.

A pipeline reads a file a batch into a table with two expectations: as small batches as there are, and batches of
`--rows` rows. Measured is the thread on which Spark tells of a batch, from the call into Python to its return: the
numbers are read, the accounts drawn up, the checkpoint is looked at, and two events are written to the log. That thread
works beside the batches. What they take longer for it is measured too: in a run of four times as many batches half of
them are not followed, in turn, and the medians of the times between commits are compared. The first batches are not
measured.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from pyspark.sql import SparkSession

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.session import start_session, stop_session
from penstock.config import load_project
from penstock.events import BatchProgress, EventLog, EventType, batch_progress_of, builders, read_events
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update
from penstock.spark.session.launch import SessionConfig
from penstock.spark.streams.listener import JavaCalls

_GOAL: Final = 1.0
_EVENTS: Final = 2000
_PIPELINE: Final = """\
import penstock as ps


@ps.table
@ps.expect_or_drop("positive", "amount > 0")
@ps.expect("known", "customer IS NOT NULL")
def orders():
    read = spark.readStream.schema("id LONG, customer STRING, amount DOUBLE")
    return read.option("maxFilesPerTrigger", 1).json("in")
"""


def main() -> None:
    given = _arguments()
    runs: list[dict[str, Any]] = []

    def note(what: str, value: float, unit: str, goal: float | None = None) -> None:
        runs.append({"what": what, "value": round(value, 3), "goal": goal, "unit": unit})
        print(f"{what}: {value:.3f} {unit}", flush=True)

    with tempfile.TemporaryDirectory(prefix="event-log-", dir=given.work) as folder:
        note("an event into the log", 1000 * _append(Path(folder) / "log"), "ms")
        spark = start_session(SessionConfig("event_log", python_roots=(Path(folder),)))
        for what, rows in (("small batches", 10), (f"batches of {given.rows:,} rows", given.rows)):
            batches, told = _run(spark, Path(folder), given, rows)
            milliseconds = sum(batch.batch_duration_ms or 0 for batch in batches)
            note(f"{what}, median of a batch", statistics.median(b.batch_duration_ms or 0 for b in batches), "ms")
            note(f"{what}, listener and log, median", 1000 * statistics.median(wall for wall, _ in told), "ms")
            note(f"{what}, listener and log", 100_000 * sum(wall for wall, _ in told) / milliseconds, "% of batch time")
            used = 100_000 * sum(used for _, used in told) / milliseconds
            note(f"{what}, listener and log, processor", used, "% of batch time", _GOAL)
            longer, error = _longer(spark, Path(folder), given, rows)
            note(f"{what}, longer because they are followed", longer, "% of batch time", _GOAL)
            note(f"{what}, standard error of that", error, "% of batch time")
        stop_session(spark)
    arguments = {name: getattr(given, name) for name in ("batches", "warm_up", "rows")}
    publish("event_log", arguments, runs, given.results)


def _append(storage: Path) -> float:
    """Returns the seconds for an event with the numbers of a batch."""
    said = builders.flow_batch("orders", BatchProgress(1, 1000, 990, phases_ms={"addBatch": 800, "queryPlanning": 60}))
    with EventLog.open(str(storage), pipeline_name="event_log", update_id="one") as log:
        began = time.monotonic()
        for _ in range(_EVENTS):
            log.append(EventType.FLOW_PROGRESS, *said, dataset="bench.orders", flow="orders", batch_id=1)
        return (time.monotonic() - began) / _EVENTS


def _run(
    spark: SparkSession, folder: Path, given: argparse.Namespace, rows: int
) -> tuple[list[BatchProgress], list[tuple[float, float]]]:
    """Returns the measured batches, and of each the seconds that its report took, by the clock and of the processor."""
    with _timed_reports() as told:
        storage = _update(spark, folder, given.warm_up + given.batches, rows)
    batches = [batch for event in read_events(storage) if (batch := batch_progress_of(event)) is not None]
    if len(batches) != given.warm_up + given.batches:
        raise SystemExit("batches are missing in the log")
    return batches[given.warm_up :], told[given.warm_up :]


def _longer(spark: SparkSession, folder: Path, given: argparse.Namespace, rows: int) -> tuple[float, float]:
    """Returns by how much of its time a batch takes longer because it is followed, in percent, with the error."""
    batches = given.warm_up + 4 * given.batches
    with _half_left_out(given.warm_up):
        storage = _update(spark, folder, batches, rows)
    log = sorted(Path(f"{storage}/tables/bench/orders/_delta_log").glob("*.json"))
    done = [commit.stat().st_mtime for commit in log if '"STREAMING UPDATE"' in commit.read_text()]
    if len(done) != batches:
        raise SystemExit("batches are missing in the table's log")
    took: dict[bool, list[float]] = {True: [], False: []}
    for number in range(given.warm_up, batches):
        took[_is_followed(number, given.warm_up)].append(done[number] - done[number - 1])
    without, longer = statistics.median(took[False]), statistics.median(took[True]) - statistics.median(took[False])
    error = math.hypot(*map(_error_of_median, took.values()))
    return 100 * longer / without, 100 * error / without


def _error_of_median(values: list[float]) -> float:
    low, _, high = statistics.quantiles(values, n=4)
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(values))


def _is_followed(batch: int, warm_up: int) -> bool:
    """Whether the report of the batch before, which is made while this one runs, is taken: two are, two are not."""
    return batch < warm_up or batch % 4 in {1, 2}


def _update(spark: SparkSession, folder: Path, batches: int, rows: int) -> str:
    """Runs an update of so many batches of a file each, and returns its storage."""
    shutil.rmtree(folder / "in", ignore_errors=True)
    (folder / "in").mkdir()
    line = json.dumps({"id": 1, "customer": "ada", "amount": 12.5}) + "\n"
    (folder / "rows").write_text(line * rows)
    for number in range(batches):
        (folder / "in" / f"{number:05}.json").hardlink_to(folder / "rows")
    (folder / "penstock.yml").write_text("name: event_log\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE)
    storage = tempfile.mkdtemp(prefix="storage-", dir=folder)
    outcome = run_update(replace(load_project(folder), storage=storage), RefreshSelection(), spark=spark)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))
    if spark.read.format("delta").load(f"{storage}/tables/bench/orders").count() != rows * batches:
        raise SystemExit("the table has other rows")
    return storage


@contextmanager
def _half_left_out(warm_up: int) -> Iterator[None]:
    handle: Callable[[JavaCalls, Any], None] = JavaCalls.onQueryProgress
    following = 1  # the batch that runs while the report of the one before comes

    def some(calls: JavaCalls, event: Any) -> None:
        nonlocal following
        if _is_followed(following, warm_up):
            handle(calls, event)
        following += 1

    with patch.object(JavaCalls, "onQueryProgress", some):
        yield


@contextmanager
def _timed_reports() -> Iterator[list[tuple[float, float]]]:
    told: list[tuple[float, float]] = []
    handle: Callable[[JavaCalls, Any], None] = JavaCalls.onQueryProgress

    def timed(calls: JavaCalls, event: Any) -> None:
        began, used = time.perf_counter(), time.thread_time()
        handle(calls, event)
        told.append((time.perf_counter() - began, time.thread_time() - used))

    with patch.object(JavaCalls, "onQueryProgress", timed):
        yield told


def _arguments() -> argparse.Namespace:
    parser = parser_of("event_log", __doc__)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=5, help="batches before those, not measured")
    parser.add_argument("--rows", type=int, default=100_000, help="of a batch that is not small")
    return parse(parser)


if __name__ == "__main__":
    main()
