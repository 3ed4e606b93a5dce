"""A day of arrivals in fast motion, and what a pipeline really did with it on a schedule."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.commands import with_spark
from benchmarks.reliability.pipelines import continuous
from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.measures import CostProjection, Measured, measured_of, with_stored_partitions
from penstock.care.cost.schedules import Schedule
from penstock.care.cost.simulation import Batch, freshness
from penstock.events import Event, EventReader, EventType, UpdateState, batch_progress_of, read_events
from penstock.events.flows.facts import details_of
from penstock.observe.flows.activity import Period

EVERY: Final = 0.5
"""So many seconds pass from one file to the next."""


LAST_TABLE: Final = "bench.daily"
_PATIENCE: Final = 600.0
_PIPELINE: Final = """\
import penstock as ps
from pyspark.sql import functions as F


@ps.table
def raw():
    return spark.readStream.schema("id LONG, shop STRING, amount DOUBLE").json({folder!r})


@ps.table
def daily():
    return spark.readStream.table("raw").withColumn("digest", F.sha2(F.concat_ws("-", "id", "shop"), 256))
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file with `rows` rows, that comes `at` seconds after the day has begun, or before it where that is negative."""

    path: Path
    rows: int
    at: float


@dataclass(slots=True)
class RealRun:
    """What really happened during the day.

    Attributes:
        busy: the seconds of each table's batches.
        on: the seconds of its updates, as the log has them.
        processes: the seconds of its processes, from their start to their end.
        ages: how old the last table's rows were when they could be read, as (seconds, rows).
        seconds: how long the day was.
        begin: when it began, in seconds since 1970.
    """

    storage: str
    begin: float
    busy: dict[str, float]
    on: float
    processes: float
    ages: list[tuple[float, float]]
    seconds: float


def write_files(folder: Path, seconds: float, rows: int, before: float) -> list[File]:
    """Writes a file for each EVERY seconds, of `rows` rows on average, four times as large at noon as at midnight.

    They begin `before` seconds before the day.
    """
    folder.mkdir(parents=True)
    files: list[File] = []
    number = 0
    for tick in range(int((before + seconds) / EVERY)):
        at = tick * EVERY - before
        size = round(rows * (1 - 0.6 * math.cos(2 * math.pi * at / seconds)))
        path = folder / f"{tick:05}.json"
        with path.open("w") as file:
            for each in range(number, number + size):
                file.write(f'{{"id": {each}, "shop": "shop-{each % 97}", "amount": {each % 1000 / 10}}}\n')
        number += size
        files.append(File(path, size, at))
    return files


def run_day(place: Path, files: Sequence[File], schedule: Schedule, *, before: float) -> RealRun:
    """Lets the files come, and runs the pipeline meanwhile as the schedule says, as `penstock run` in a cron job does.

    Each run is a process with a session of its own, unless benchmarks share one. The tables exist before the day, from
    a run with the first file: to create them, to start what is always on and to warm it up, `before` seconds long, is
    no part of it.
    """
    (place / "in").mkdir(parents=True)
    settings = "name: cost\nschema: bench\n"
    (place / "penstock.yml").write_text(settings)
    (place / "pipeline.py").write_text(_PIPELINE.format(folder=str(place / "in")))
    arriving = _Arriving(place / "in", [file for file in files if file.at >= -before])
    arriving.next_file()
    with_spark("run", place)
    if schedule.always_on:
        (place / "penstock.yml").write_text(f"{settings}trigger: {schedule.interval:g} seconds\n")
    run = _always_on if schedule.always_on else _at_intervals
    processes = run(place, arriving, schedule)
    return _what_happened(str(place / ".penstock"), processes, arriving)


class _Arriving(threading.Thread):
    """Lets files come at their times, from the next one of them on; some may come before its start."""

    def __init__(self, folder: Path, files: Sequence[File]) -> None:
        super().__init__(daemon=True)
        self._folder, self._left = folder, list(files)
        self.rows = sum(file.rows for file in files)
        self.last_at = files[-1].at
        self.begin = 0.0
        self.came: list[tuple[float, int]] = []

    def start(self) -> None:
        self.begin = time.time() - self._left[0].at
        super().start()

    def run(self) -> None:
        while self._left:
            time.sleep(max(self.begin + self._left[0].at - time.time(), 0))
            self.next_file()

    def next_file(self) -> None:
        """Lets the next file come now."""
        file = self._left.pop(0)
        os.link(file.path, self._folder / file.path.name)
        self.came.append((time.time(), file.rows))


def _always_on(place: Path, arriving: _Arriving, _: Schedule) -> float:
    """Stops the run when the last table has all rows."""
    reader = EventReader(str(place / ".penstock"))
    started, rows = time.monotonic(), 0

    def read(until: int, seconds: float) -> None:
        nonlocal rows
        end = time.monotonic() + seconds
        while rows < until:
            if not goes_on():
                raise SystemExit(f"the run has ended by itself; see {place / 'run.log'}")
            if time.monotonic() > end:
                raise SystemExit(f"{LAST_TABLE} has {rows} rows after {seconds:.0f} s, not {until}")
            time.sleep(EVERY)
            for event in reader.poll():
                progress = batch_progress_of(event)
                if progress is not None and event.origin.dataset_name == LAST_TABLE:
                    rows += progress.num_input_rows

    arriving.next_file()
    with continuous(place, ends=signal.SIGTERM) as goes_on:
        read(sum(rows for _, rows in arriving.came), _PATIENCE)
        arriving.start()
        read(arriving.rows, arriving.begin + arriving.last_at - time.time() + _PATIENCE)
    return time.monotonic() - started


def _at_intervals(place: Path, arriving: _Arriving, schedule: Schedule) -> float:
    """A run at each interval; after one that takes longer, the next one waits for its own interval, as simulated."""
    arriving.start()
    seconds, due, all_came = 0.0, 1, False
    while not all_came:
        time.sleep(max(arriving.begin + due * schedule.interval - time.time(), 0))
        all_came = due * schedule.interval > arriving.last_at
        seconds += with_spark("run", place)
        due = max(due + 1, math.ceil((time.time() - arriving.begin) / schedule.interval))
    return seconds


def _what_happened(storage: str, processes: float, arriving: _Arriving) -> RealRun:
    busy: dict[str, float] = {}
    batches: list[Batch] = []
    early = [each for each in arriving.came if each[0] < arriving.begin]
    before, rows = sum(size for _, size in early), 0
    begun = on = 0.0
    for event in read_events(storage):
        progress, table = batch_progress_of(event), event.origin.dataset_name or ""
        end = event.timestamp.timestamp() - arriving.begin
        if event.event_type is EventType.CREATE_UPDATE:
            begun = end
        elif event.event_type is EventType.UPDATE_PROGRESS and begun > 0:
            on += end - begun if details_of(event).get("state") == UpdateState.COMPLETED.value else 0.0
        if progress is None or not progress.num_input_rows:
            continue
        first, rows = rows, rows + (progress.num_input_rows if table == LAST_TABLE else 0)
        if end < 0:
            continue
        seconds = (progress.batch_duration_ms or 0) / 1000
        busy[table] = busy.get(table, 0.0) + seconds
        if table == LAST_TABLE and rows > before:
            batches.append(Batch(end - seconds, end, max(first - before, 0), rows - before, 0.0))
    if rows != arriving.rows:
        raise SystemExit(f"{LAST_TABLE} has read {rows} rows, not {arriving.rows}")
    truth = Arrivals([Period(at - 0.001, at, size, 1) for at, size in arriving.came[len(early) :]], arriving.begin)
    return RealRun(storage, arriving.begin, busy, on, processes, freshness(truth, batches), arriving.last_at + EVERY)


def measured_day(run: RealRun) -> Measured:
    """Returns what the log says of the day; of the warm-up only the last batch of each table, as one before the day."""
    projection, before = CostProjection(), dict[str | None, Event]()
    for event in read_events(run.storage):
        if event.timestamp.timestamp() >= run.begin:
            for each in before.values():
                projection.apply(each)
            before.clear()
        elif batch_progress_of(event) is not None:
            before[event.origin.dataset_name] = event
            continue
        projection.apply(event)
    return with_stored_partitions(measured_of(projection, name="cost"), run.storage)
