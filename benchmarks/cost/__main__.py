"""Compares the simulation of `penstock cost` with real runs: `python -m benchmarks.cost [--seconds N] [--rows N]`.

A day of arrivals passes in `--seconds`: a file twice a second, four times as large in the afternoon as at night. A
pipeline of two tables reads them always on, with a short trigger. From the log of that run the other schedules are
simulated, and then each of them really runs over the same files at the same times. Compared are the time for which
batches were busy, the time for which the cluster was on, and the freshness of the second table, of which the truth is
known: when each file came, and when the batch ended that had it.

`--batches N` adds how long `penstock cost` takes on a log of N batches in 30 days (some minutes, to write it).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.cost.long_log import write_long_log
from benchmarks.session import start_session, stop_session
from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.estimate import ScheduleCost, estimate
from penstock.care.cost.measures import Measured, measure
from penstock.care.cost.prices import Prices
from penstock.care.cost.schedules import Schedule, ScheduleKind
from penstock.care.cost.simulation import Batch, freshness, percentiles
from penstock.config import load_project
from penstock.events import Event, EventType, batch_progress_of, read_events
from penstock.events.flows.facts import details_of
from penstock.observe.flows.activity import Period
from penstock.observe.log.totals import bring_up_to_date
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update
from penstock.spark.session.launch import SessionConfig

_GOAL: Final = 0.1
_EVERY: Final = 0.5
_PATIENCE: Final = 120.0
_RECORDED: Final = Schedule(ScheduleKind.ALWAYS_ON, 2.0)
_LAST_TABLE: Final = "bench.daily"
_PIPELINE: Final = """\
import penstock as ps
from pyspark.sql import functions as F


@ps.table
def raw():
    return spark.readStream.schema("id LONG, shop STRING, amount DOUBLE").json("in")


@ps.table
def daily():
    return spark.readStream.table("raw").withColumn("digest", F.sha2(F.concat_ws("-", "id", "shop"), 256))
"""


def main() -> int:
    given = _arguments()
    runs: list[dict[str, Any]] = []

    def note(what: str, value: float, unit: str, goal: float | None = None) -> None:
        runs.append({"what": what, "value": round(value, 3), "goal": goal, "unit": unit})
        print(f"{what}: {value:.3f} {unit}", flush=True)

    with tempfile.TemporaryDirectory(prefix="cost-", dir=given.work, ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        files = _write_files(place / "files", given.seconds, given.rows)
        spark = start_session(SessionConfig("cost", python_roots=(place,)))
        _run(spark, place / "warm", files[: len(files) // 8 + 1], _RECORDED)
        recorded = _run(spark, place / "recorded", files, _RECORDED)
        measured = measure(recorded.storage, name="cost")
        schedules = (
            Schedule(ScheduleKind.ALWAYS_ON, given.trigger),
            Schedule(ScheduleKind.AVAILABLE_NOW, given.every),
        )
        for schedule in schedules:
            real = _run(spark, place / f"{schedule.kind.value}", files, schedule)
            _compare(note, schedule, _simulated(measured, schedule), real)
        stop_session(spark)
        if given.batches:
            note(f"penstock cost on {given.batches:,} batches", _time_long_log(place / "long", given.batches), "s", 3.0)
    arguments = {name: getattr(given, name) for name in ("seconds", "rows", "trigger", "every", "batches")}
    publish("cost", arguments, runs, given.results)
    return 0


@dataclass(frozen=True, slots=True)
class _File:
    """A file with `rows` rows, that comes `at` seconds after the beginning."""

    path: Path
    rows: int
    at: float


@dataclass(slots=True)
class _Run:
    """What really happened: seconds of each table's batches, of the cluster, and the ages of the last table's rows."""

    storage: str
    busy: dict[str, float]
    on: float
    ages: list[tuple[float, float]]
    came: list[tuple[float, int]]


def _write_files(folder: Path, seconds: float, rows: int) -> list[_File]:
    folder.mkdir(parents=True)
    files: list[_File] = []
    number = 0
    for tick in range(int(seconds / _EVERY)):
        at = tick * _EVERY
        size = round(rows * (1 - 0.6 * math.cos(2 * math.pi * at / seconds)))
        path = folder / f"{tick:05}.json"
        with path.open("w") as file:
            for each in range(number, number + size):
                file.write(f'{{"id": {each}, "shop": "shop-{each % 97}", "amount": {each % 1000 / 10}}}\n')
        number += size
        files.append(_File(path, size, at))
    return files


def _run(spark: SparkSession, place: Path, files: Sequence[_File], schedule: Schedule) -> _Run:
    """Lets the files come, and runs the pipeline meanwhile as the schedule says."""
    (place / "in").mkdir(parents=True)
    (place / "penstock.yml").write_text("name: cost\nschema: bench\n")
    (place / "pipeline.py").write_text(_PIPELINE)
    trigger = f"{schedule.interval:g} seconds" if schedule.always_on else "available_now"
    config = load_project(place).with_run_options(trigger=trigger)
    coming = _Coming(place / "in", files, schedule)
    coming.start()
    with chdir(place):
        if schedule.always_on:
            _update(spark, config, coming.done, coming.seen)
        else:
            for number in range(1, math.ceil(files[-1].at / schedule.interval) + 1):
                time.sleep(max(coming.begin + number * schedule.interval - time.time(), 0))
                _update(spark, config, None, None)
    coming.join()
    return _what_happened(config.storage, coming.came)


class _Coming(threading.Thread):
    """Lets files come at their times; of a run that goes on, when both tables have had a first batch.

    `done` is set when the last table has all rows.
    """

    def __init__(self, folder: Path, files: Sequence[_File], schedule: Schedule) -> None:
        super().__init__(daemon=True)
        self._folder, self._files = folder, files
        self._always_on = schedule.always_on
        self._up = threading.Event()
        self._rows = 0
        self.begin = time.time() + 0.5
        self.came: list[tuple[float, int]] = []
        self.done = threading.Event()

    def run(self) -> None:
        rest = list(self._files)
        if self._always_on:
            self._come(rest.pop(0))
            if not self._up.wait(_PATIENCE):
                self.done.set()
                return
            self.begin = time.time()
        for file in rest:
            time.sleep(max(self.begin + file.at - time.time(), 0))
            self._come(file)

    def _come(self, file: _File) -> None:
        os.link(file.path, self._folder / file.path.name)
        self.came.append((time.time(), file.rows))

    def seen(self, event: Event) -> None:
        """Follows the run."""
        progress = batch_progress_of(event)
        if progress is None or event.origin.dataset_name != _LAST_TABLE:
            return
        self._up.set()
        self._rows += progress.num_input_rows
        if self._rows == sum(file.rows for file in self._files):
            self.done.set()


def _update(
    spark: SparkSession, config: Any, stop: threading.Event | None, seen: Callable[[Event], None] | None
) -> None:
    outcome = run_update(config, RefreshSelection(), spark=spark, stop=stop, on_event=seen)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))


def _what_happened(storage: str, came: list[tuple[float, int]]) -> _Run:
    busy: dict[str, float] = {}
    batches: list[Batch] = []
    begun = on = 0.0
    rows = 0
    for event in read_events(storage):
        at = event.timestamp.timestamp()
        if event.event_type is EventType.CREATE_UPDATE:
            begun = at
        elif event.event_type is EventType.UPDATE_PROGRESS and details_of(event).get("state") in {
            "COMPLETED",
            "CANCELED",
        }:
            on += at - begun
        progress, table = batch_progress_of(event), event.origin.dataset_name or ""
        if progress is None or not progress.num_input_rows:
            continue
        busy[table] = busy.get(table, 0.0) + (progress.batch_duration_ms or 0) / 1000
        if table == _LAST_TABLE:
            start = at - (progress.batch_duration_ms or 0) / 1000
            batches.append(Batch(start, at, rows, rows + progress.num_input_rows, start))
            rows += progress.num_input_rows
    whole = sum(size for _, size in came)
    if rows != whole:
        raise SystemExit(f"{_LAST_TABLE} has read {rows} rows, not {whole}")
    truth = Arrivals([Period(at - 0.001, at, size, 1) for at, size in came], came[0][0])
    shifted = [Batch(each.start, each.end - came[0][0], each.before, each.after, 0.0) for each in batches]
    return _Run(storage, busy, on, freshness(truth, shifted), came)


def _simulated(measured: Measured, schedule: Schedule) -> ScheduleCost:
    return estimate(measured, Prices(), (schedule,), name="cost").schedules[0]


def _compare(note: Any, schedule: Schedule, simulated: ScheduleCost, real: _Run) -> None:
    """Everything is for the length of the day in fast motion."""
    length = real.came[-1][0] - real.came[0][0] + _EVERY
    [table] = [each for each in simulated.tables if each.dataset == _LAST_TABLE]
    p50, p95 = percentiles(real.ages, (0.5, 0.95))
    pairs = {
        "busy": (sum(each.busy for each in simulated.tables) * length / 86_400, sum(real.busy.values())),
        "freshness p50": (table.p50, p50),
        "freshness p95": (table.p95, p95),
    }
    if not schedule.always_on:
        pairs["cluster on"] = (simulated.hours_on / 24 * length, real.on)
    for what, (found, true) in pairs.items():
        assert found is not None
        assert true is not None
        note(f"{schedule.name}: {what}, simulated", found, "s")
        note(f"{schedule.name}: {what}, real", true, "s")
        note(f"{schedule.name}: {what}, difference", abs(found / true - 1), "share", _GOAL)


def _time_long_log(place: Path, batches: int) -> float:
    storage = place / ".penstock"
    place.mkdir()
    (place / "penstock.yml").write_text("name: shop\n")
    write_long_log(storage, batches=batches, days=30)
    bring_up_to_date(str(storage))  # as the run does that writes the log
    command = [sys.executable, "-m", "penstock.cli", "cost", str(place), "--hourly-price", "15", "--json"]
    took: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        took.append(time.perf_counter() - start)
        assert json.loads(done.stdout)["schedules"]
    return min(took)


def _arguments() -> Any:
    parser = parser_of("cost", __doc__)
    parser.add_argument("--seconds", type=float, default=100, help="how long the day takes")
    parser.add_argument("--rows", type=int, default=5000, help="rows of a file, on average")
    parser.add_argument("--trigger", type=float, default=8, help="of the schedule that is always on, in seconds")
    parser.add_argument("--every", type=float, default=20, help="of AvailableNow, in seconds")
    parser.add_argument("--batches", type=int, default=0, help="also time a log of so many batches")
    return parse(parser)


if __name__ == "__main__":
    sys.exit(main())
