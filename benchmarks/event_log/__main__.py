"""Times what following a batch costs: `python -m benchmarks.event_log [--batches N] [--rows N]`.

A pipeline reads a file a batch into a table with two expectations: as small batches as there are, and batches of
`--rows` rows. Measured is the thread on which Spark tells of a batch, from the call into Python to its return: the
numbers are read, the accounts drawn up, the checkpoint is looked at, and two events are written to the log. That thread
works beside the batches, so what it takes is processor time and no waiting. The first batches are not measured.
"""

from __future__ import annotations

import argparse
import json
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
from penstock.config import load_project
from penstock.events import BatchProgress, EventLog, EventType, batch_progress_of, builders, read_events
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update
from penstock.spark.launch import SessionConfig
from penstock.spark.listener import JavaCalls
from penstock.spark.session import start_session, stop_session

_GOAL: Final = 1.0
_WARM_UP: Final = 5
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
            batches, told = _run(spark, Path(folder), given.batches, rows)
            milliseconds = sum(batch.batch_duration_ms or 0 for batch in batches)
            note(f"{what}, median of a batch", statistics.median(b.batch_duration_ms or 0 for b in batches), "ms")
            note(f"{what}, listener and log, median", 1000 * statistics.median(wall for wall, _ in told), "ms")
            note(f"{what}, listener and log", 100_000 * sum(wall for wall, _ in told) / milliseconds, "% of batch time")
            used = 100_000 * sum(used for _, used in told) / milliseconds
            note(f"{what}, listener and log, processor", used, "% of batch time", _GOAL)
        stop_session(spark)
    publish("event_log", {"batches": given.batches, "rows": given.rows}, runs, given.results)


def _append(storage: Path) -> float:
    """Returns the seconds for an event with the numbers of a batch."""
    said = builders.flow_batch("orders", BatchProgress(1, 1000, 990, phases_ms={"addBatch": 800, "queryPlanning": 60}))
    with EventLog.open(str(storage), pipeline_name="event_log", update_id="one") as log:
        began = time.monotonic()
        for _ in range(_EVENTS):
            log.append(EventType.FLOW_PROGRESS, *said, dataset="bench.orders", flow="orders", batch_id=1)
        return (time.monotonic() - began) / _EVENTS


def _run(
    spark: SparkSession, folder: Path, count: int, rows: int
) -> tuple[list[BatchProgress], list[tuple[float, float]]]:
    """Returns the measured batches, and of each the seconds that its report took, by the clock and of the processor."""
    shutil.rmtree(folder / "in", ignore_errors=True)
    (folder / "in").mkdir()
    line = json.dumps({"id": 1, "customer": "ada", "amount": 12.5}) + "\n"
    for number in range(count + _WARM_UP):
        (folder / "in" / f"{number:05}.json").write_text(line * rows)
    (folder / "penstock.yml").write_text("name: event_log\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE)
    config = replace(load_project(folder), storage=str(folder / f"storage-{rows}"))
    with _timed_reports() as told:
        outcome = run_update(config, RefreshSelection(), spark=spark)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))
    batches = [batch for event in read_events(config.storage) if (batch := batch_progress_of(event)) is not None]
    if sum(batch.num_output_rows for batch in batches) != rows * (count + _WARM_UP):
        raise SystemExit("the table has other rows")
    return batches[_WARM_UP:], told[_WARM_UP:]


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
    parser.add_argument("--rows", type=int, default=100_000, help="of a batch that is not small")
    return parse(parser)


if __name__ == "__main__":
    main()
