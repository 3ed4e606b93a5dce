"""Times what counting lateness costs: `python -m benchmarks.lateness [--rows N] [--repeat N]`.

A windowed aggregation over the same files, with counting and without, in turn in one session, so that a slow moment of
the machine meets both; the ratio is the median of those of the rounds. No row is dropped; every second one is late by
some seconds, which costs more to count than none. The time of a run is that of the flow's batches after the first one.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import truediv
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish

_FILES, _FILES_IN_BATCH = 16, 4
_MEASURED, _PLAIN = "lateness counted", "not counted"
_GOAL = 1.03
_PIPELINE = """\
import penstock as ps
from pyspark.sql import functions as F


@ps.table(spark_conf={{"pipelines.watermark.lateness": "{measured}"}})
def minutes():
    rows = spark.readStream.schema("shop STRING, amount DOUBLE, at TIMESTAMP")
    rows = rows.option("maxFilesPerTrigger", {files}).json({source!r}).withWatermark("at", "10 minutes")
    return rows.groupBy(F.window("at", "1 minute"), "shop").agg(F.sum("amount").alias("amount"))
"""


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="lateness-", dir=given.work) as folder:
        seconds = _measure(Path(folder), given.rows, given.repeat)
    ratio = round(statistics.median(map(truediv, seconds[_MEASURED], seconds[_PLAIN])), 3)
    runs: list[dict[str, Any]] = [
        {"what": what, "seconds": [round(each, 3) for each in taken], "base": None, "ratio": None, "goal": None}
        for what, taken in seconds.items()
    ]
    runs[-1] |= {"base": _PLAIN, "ratio": ratio, "goal": _GOAL}
    publish("lateness", {"rows": given.rows, "repeat": given.repeat}, runs, given.results)
    return 0


def _measure(folder: Path, rows: int, repeat: int) -> dict[str, list[float]]:
    from penstock.spark.launch import SessionConfig
    from penstock.spark.session import start_session, stop_session

    source = folder / "input"
    _write_input(source, rows)
    seconds: dict[str, list[float]] = {_PLAIN: [], _MEASURED: []}
    spark = start_session(SessionConfig("lateness", python_roots=(folder,)))
    for turn in range(repeat + 1):
        for what, taken in seconds.items():
            project = folder / f"{turn}-{what.split()[0]}"
            took, counted = _seconds(project, source, spark, measured=what == _MEASURED)
            if counted != (rows if what == _MEASURED else 0):
                raise SystemExit(f"{what}: {counted:,} rows were measured")
            shutil.rmtree(project)
            if turn:  # the first round warms the compiler up
                taken.append(took)
            print(f"{turn}: {what}: {took:.2f} s", flush=True)
    stop_session(spark)
    return seconds


def _seconds(project: Path, source: Path, spark: Any, *, measured: bool) -> tuple[float, int]:
    from penstock.config import load_project
    from penstock.events import batch_progress_of, read_events
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update

    project.mkdir()
    (project / "penstock.yml").write_text("name: lateness\nschema: bench\n")
    (project / "pipeline.py").write_text(
        _PIPELINE.format(files=_FILES_IN_BATCH, source=str(source), measured=str(measured).lower())
    )
    config = replace(load_project(project), storage=str(project / ".penstock"))
    outcome = run_update(config, RefreshSelection(), spark=spark)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))
    batches = [progress for event in read_events(config.storage) if (progress := batch_progress_of(event)) is not None]
    counted = sum(each.lateness.rows for each in batches if each.lateness is not None)
    timed = [each for each in batches if each.batch_id > 0 and each.num_input_rows]
    return sum(each.batch_duration_ms or 0 for each in timed) / 1000, counted


def _write_input(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True)
    draw, start = random.Random(11), datetime(2026, 1, 1, tzinfo=UTC)
    for part in range(_FILES):
        with (folder / f"{part:02}.json").open("w", encoding="utf-8") as file:
            for number in range(part * rows // _FILES, (part + 1) * rows // _FILES):
                at = start + timedelta(milliseconds=part // _FILES_IN_BATCH * 30_000 + draw.randrange(60_000))
                row = {"shop": f"shop-{number % 500:03}", "amount": number % 977 + 0.25, "at": at.isoformat()}
                file.write(json.dumps(row) + "\n")


def _arguments() -> argparse.Namespace:
    parser = parser_of("lateness", __doc__)
    parser.add_argument("--rows", type=int, default=2_400_000)
    parser.add_argument("--repeat", type=int, default=5)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
