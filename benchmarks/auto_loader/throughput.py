"""How fast JSON comes into a Delta table: with Auto Loader, and with Spark's own stream of files and a given schema."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.sources.auto_loader import load_auto_loader
from penstock.spark.sources.stream_read import StreamRead, native_load

NATIVE: Final = "readStream.json with a given schema"
INFERRED: Final = "Auto Loader, inferred schema"
RESCUED: Final = "Auto Loader, inferred schema, rescued data and a look for unknown fields"

# The goals are speeds: 0.9 and 0.75 of Spark's.
_GOALS: Final = {INFERRED: round(1 / 0.9, 2), RESCUED: round(1 / 0.75, 2)}
_FIRST: Final = ", with the look for columns that the first start has"
_SCHEMA: Final = (
    "amount DOUBLE, at TIMESTAMP, customer STRING, id BIGINT, item STRUCT<name: STRING, price: DOUBLE>, paid BOOLEAN"
)

Read = Callable[[Path], DataFrame]


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds: until the columns are known, and of the query."""

    columns: float
    query: float

    @property
    def first_start(self) -> float:
        """From the call that looks for the columns to the end of the query."""
        return self.columns + self.query


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


def measure_throughput(spark: SparkSession, root: Path, rows: int, repeat: int, warm_up: int) -> dict[str, list[Taken]]:
    """Returns what each way takes, `repeat` times in turn after `warm_up` that are not counted.

    Raises:
        SystemExit: A table has not all rows.
    """
    ways: dict[str, Read] = {
        NATIVE: lambda run: _native(spark, root),
        INFERRED: lambda run: _auto_loader(spark, root, run, {"cloudFiles.schemaEvolutionMode": "none"}),
        RESCUED: lambda run: _auto_loader(spark, root, run, {}),
    }
    measured: dict[str, list[Taken]] = {what: [] for what in ways}
    for turn in range(-warm_up, repeat):
        for what, read in ways.items():
            run = root / "run"
            started = time.monotonic()
            frame = read(run)
            known = time.monotonic()
            writer = frame.writeStream.format("delta").option("checkpointLocation", str(run / "checkpoint"))
            writer.trigger(availableNow=True).start(str(run / "table")).awaitTermination()
            taken = Taken(known - started, time.monotonic() - known)
            table = spark.read.format("delta").load(str(run / "table"))
            good = table.where("id IS NOT NULL AND item.price IS NOT NULL AND at IS NOT NULL").count()
            if good != rows:
                raise SystemExit(f"{what}: {good} whole rows of {rows}")
            shutil.rmtree(run)
            print(f"{'warm-up' if turn < 0 else 'timed'}: {what} {taken.columns:.2f} + {taken.query:.2f} s", flush=True)
            if turn >= 0:
                measured[what].append(taken)
    return measured


def results(rows: int, measured: dict[str, list[Taken]]) -> list[dict[str, Any]]:
    """Returns what the result file says: seconds, and the ratio of the fastest runs to the fastest of Spark's.

    The look for columns is once in a pipeline's life, so there are numbers of the query alone and with it.
    """
    runs: list[dict[str, Any]] = []
    for what, taken in measured.items():
        runs += _result(rows, what, [each.query for each in taken], [each.query for each in measured[NATIVE]])
    for what in _GOALS:
        first, native = ([each.first_start for each in measured[way]] for way in (what, NATIVE))
        runs += _result(rows, what, first, native, _FIRST)
    return runs


def _result(rows: int, way: str, seconds: list[float], native: list[float], more: str = "") -> list[dict[str, Any]]:
    what, each = f"{rows:,} rows: {way}{more}", [round(value, 2) for value in seconds]
    told = {"what": what, "value": min(each), "unit": "s", "goal": None, "seconds": each}
    runs: list[dict[str, Any]] = [told | {"rows_per_second": round(rows / min(seconds))}]
    if way in _GOALS:
        ratio = round(min(seconds) / min(native), 2)
        runs.append({"what": what, "value": ratio, "unit": "of the seconds of Spark's own", "goal": _GOALS[way]})
    return runs


def _native(spark: SparkSession, root: Path) -> DataFrame:
    return native_load(spark, "json", {}, _SCHEMA, str(root / "rows"), source_name="files")


def _auto_loader(spark: SparkSession, root: Path, run: Path, more: dict[str, str]) -> DataFrame:
    options = {"cloudFiles.format": "json", "cloudFiles.inferColumnTypes": "true", **more}
    options["cloudFiles.settleTime"] = "0 seconds"  # the files are whole
    read = StreamRead("cloudFiles", options, None, str(root / "rows"))
    frame, _ = load_auto_loader(spark, read, schema_location=str(run / "schemas"), source_name="files", persist=True)
    return frame
