"""How long it takes to find files in a flat folder, at the first start, in later batches, and after a restart."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.sources.auto_loader import load_auto_loader
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.streams.earlier_batches import repair_offset_log

GOAL_FIRST: Final = 60.0
GOAL_LATER: Final = 0.3
_RECORDS: Final = 1000
"""Files that hold a record, besides those that arrive later: the others are empty, as they are about finding only."""
_AT_ONCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds: from the start to the end of the first batch, of discovery in each later batch, and of a restart."""

    first: float
    later: list[float]
    restart: float
    later_after_restart: list[float]


def measure_discovery(spark: SparkSession, root: Path, files: int, batches: int) -> Found:
    """Takes in a folder of `files` JSON files, then `batches` times one more, before a restart and after it.

    Raises:
        SystemExit: A row is missing or there twice.
    """
    landing = root / "in"
    landing.mkdir(parents=True)
    records = 0
    for number in range(files):
        holds = number < _RECORDS or number % max(1, files // _RECORDS) == 0
        (landing / f"{number:08}.json").write_bytes(b'{"id": 1}\n' if holds else b"")
        records += holds
    started = time.monotonic()
    with _streaming(spark, root) as query:
        _wait(query)
        first = time.monotonic() - started
    with _streaming(spark, root, maxFilesPerTrigger=str(_AT_ONCE)) as query:
        query.processAllAvailable()
        later = _arrivals(query, landing, "a", batches)
    (landing / "b.json").write_text('{"id": 1}\n')
    os.utime(landing / "b.json", (0, 0))  # else a start waits until nobody writes it
    started = time.monotonic()
    with _streaming(spark, root) as query:
        _wait(query)
        restart = time.monotonic() - started
        after = _arrivals(query, landing, "c", batches)
    rows = spark.read.format("delta").load(str(root / "table")).count()
    if rows != records + 2 * batches + 1:
        raise SystemExit(f"{rows} rows of {records + 2 * batches + 1}")
    return Found(first, later, restart, after)


def results(files: int, found: Found) -> list[dict[str, Any]]:
    """Returns what the result file says of a folder of so many files."""
    told = [
        ("start to the end of the first batch", [found.first], GOAL_FIRST),
        ("discovery in a later batch", found.later, GOAL_LATER),
        ("restart to the end of the first batch", [found.restart], None),
        ("discovery in a later batch after it", found.later_after_restart, GOAL_LATER),
    ]
    runs = []
    for what, seconds, goal in told:
        middle = [("", statistics.median(seconds)), (", the slowest", max(seconds))][: len(seconds)]
        runs += [
            {"what": f"{files:,} files: {what}{which}", "value": round(value, 3), "unit": "s", "goal": goal}
            for which, value in middle
        ]
    return runs


@contextmanager
def _streaming(spark: SparkSession, root: Path, **options: str) -> Iterator[StreamingQuery]:
    given = {"cloudFiles.format": "json", **{f"cloudFiles.{name}": value for name, value in options.items()}}
    read = StreamRead("cloudFiles", given, None, str(root / "in"))
    frame, _ = load_auto_loader(spark, read, schema_location=str(root / "schemas"), source_name="files", persist=True)
    repair_offset_log(str(root / "checkpoint"), 2)
    writer = frame.writeStream.format("delta").option("checkpointLocation", str(root / "checkpoint"))
    query = writer.trigger(processingTime="0 seconds").start(str(root / "table"))
    try:
        yield query
    finally:
        query.stop()


def _wait(query: StreamingQuery) -> None:
    """Until a batch that has rows is committed."""
    while not any(progress["numInputRows"] for progress in query.recentProgress):
        time.sleep(0.02)
        if query.exception() is not None:
            raise SystemExit(str(query.exception()))


def _arrivals(query: StreamingQuery, landing: Path, name: str, batches: int) -> list[float]:
    """Returns the seconds of discovery of each batch."""
    query.processAllAvailable()
    seconds = []
    for number in range(batches):
        hidden = landing / f".{name}{number}.json"
        hidden.write_text('{"id": 1}\n')
        hidden.rename(landing / hidden.name[1:])
        query.processAllAvailable()
        done = next(each for each in reversed(query.recentProgress) if each["numInputRows"])
        seconds.append(done["durationMs"]["latestOffset"] / 1000)
    return seconds
