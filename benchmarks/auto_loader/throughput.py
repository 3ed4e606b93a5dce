"""How fast JSON comes into a Delta table: with Auto Loader, and with Spark's own stream of files and a given schema."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.sources.auto_loader import load_auto_loader
from penstock.spark.sources.native import native_load
from penstock.spark.sources.stream_read import StreamRead

NATIVE: Final = "readStream.json with a given schema"
INFERRED: Final = "Auto Loader, inferred schema"
RESCUED: Final = "Auto Loader, inferred schema, rescued data and a look for unknown fields"

# The goals are speeds: 0.9 and 0.75 of Spark's.
_GOALS: Final = {INFERRED: round(1 / 0.9, 2), RESCUED: round(1 / 0.75, 2)}
_SCHEMA: Final = (
    "amount DOUBLE, at TIMESTAMP, customer STRING, id BIGINT, item STRUCT<name: STRING, price: DOUBLE>, paid BOOLEAN"
)

Read = Callable[[Path], DataFrame]


def write_rows(folder: Path, rows: int, files: int) -> None:
    """Writes orders as JSON lines, as many in each file."""
    folder.mkdir(parents=True)
    for file in range(files):
        with (folder / f"{file:05}.json").open("w") as out:
            for number in range(rows * file // files, rows * (file + 1) // files):
                order = {
                    "id": number,
                    "customer": f"customer {number % 1000}",
                    "amount": number % 977 / 4,
                    "at": f"2026-01-{number % 28 + 1:02}T08:{number % 60:02}:00Z",
                    "paid": number % 3 == 0,
                    "item": {"name": f"item {number % 50}", "price": number % 50 / 2 + 0.25},
                }
                out.write(json.dumps(order) + "\n")


def measure_throughput(spark: SparkSession, root: Path, rows: int, repeat: int) -> dict[str, list[float]]:
    """Returns the seconds of each way, `repeat` times in turn after one that is not counted: from the call that
    looks for the columns, if there is one, to the end of the query.

    Raises:
        SystemExit: A table has not all rows.
    """
    ways: dict[str, Read] = {
        NATIVE: lambda run: _native(spark, root),
        INFERRED: lambda run: _auto_loader(spark, root, run, {"cloudFiles.schemaEvolutionMode": "none"}),
        RESCUED: lambda run: _auto_loader(spark, root, run, {}),
    }
    measured: dict[str, list[float]] = {what: [] for what in ways}
    for turn in range(repeat + 1):
        for what, read in ways.items():
            run = root / "run"
            started = time.monotonic()
            writer = read(run).writeStream.format("delta").option("checkpointLocation", str(run / "checkpoint"))
            writer.trigger(availableNow=True).start(str(run / "table")).awaitTermination()
            seconds = time.monotonic() - started
            table = spark.read.format("delta").load(str(run / "table"))
            good = table.where("id IS NOT NULL AND item.price IS NOT NULL AND at IS NOT NULL").count()
            if good != rows:
                raise SystemExit(f"{what}: {good} whole rows of {rows}")
            shutil.rmtree(run)
            print(f"{'timed' if turn else 'warm-up'}: {what} {seconds:.2f} s", flush=True)
            if turn:
                measured[what].append(seconds)
    return measured


def results(rows: int, measured: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Returns what the result file says: seconds, and the ratio of the fastest runs to the fastest of Spark's."""
    base = min(measured[NATIVE])
    runs: list[dict[str, Any]] = []
    for what, seconds in measured.items():
        each = [round(value, 2) for value in seconds]
        told = {"what": f"{rows:,} rows: {what}", "value": min(each), "unit": "s", "goal": None, "seconds": each}
        runs.append(told | {"rows_per_second": round(rows / min(seconds))})
        if what in _GOALS:
            ratio = {
                "value": round(min(seconds) / base, 2),
                "unit": "of the seconds of Spark's own",
                "goal": _GOALS[what],
            }
            runs.append({"what": f"{rows:,} rows: {what}", **ratio})
    return runs


def _native(spark: SparkSession, root: Path) -> DataFrame:
    return native_load(spark, "json", {}, _SCHEMA, str(root / "rows"), source_name="files")


def _auto_loader(spark: SparkSession, root: Path, run: Path, more: dict[str, str]) -> DataFrame:
    options = {"cloudFiles.format": "json", "cloudFiles.inferColumnTypes": "true", **more}
    read = StreamRead("cloudFiles", options, None, str(root / "rows"))
    frame, _ = load_auto_loader(spark, read, schema_location=str(run / "schemas"), source_name="files", persist=True)
    return frame
