"""Times what counting lateness costs: `python -m benchmarks.lateness [--rows N] [--late SHARE…] [--format NAME…]`.

Windows of a minute over files, with each value of `pipelines.watermark.lateness`. Three pipelines run in one session,
one batch each in turn, so that a slow moment of the machine meets all of them. They are past the first batches, of
which more are samples, and have as many turns as it takes until one batch is a sample: their sums have the cost of
sampling in proportion. No row is dropped; late ones are two minutes late. The time is that of the flow's batches with
rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy
import pyarrow as pa
from pyarrow import compute, parquet

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from penstock.spark.late import lateness
from penstock.spark.late.lateness import SAMPLED_BATCHES

_PLAIN: Final = "false"
_SETTINGS: Final = (_PLAIN, "sample", "true")
_GOAL: Final = 1.03
_START: Final = 1_767_225_600_000_000  # 2026 begins
_PIPELINE = """\
import penstock as ps
from pyspark.sql import functions as F


@ps.table(spark_conf={{"pipelines.watermark.lateness": "{setting}"}})
def minutes():
    rows = spark.readStream.schema("shop STRING, amount DOUBLE, at TIMESTAMP").option("maxFilesPerTrigger", 1)
    rows = rows.format("{format}").load("in").withWatermark("at", "10 minutes")
    return rows.groupBy(F.window("at", "1 minute"), "shop").agg(F.sum("amount").alias("amount"))
"""


@dataclass(slots=True)
class _Pipeline:
    """One of the pipelines to compare; `seconds` are those of its turns, `counted` of its rows were measured."""

    folder: Path
    seconds: list[float]
    counted: int = 0
    batches: int = 0

    def take(self, file: Path, spark: Any, *, timed: bool) -> None:
        """Lets a file arrive, and runs until it is read."""
        from penstock.config import load_project
        from penstock.events import batch_progress_of, read_events
        from penstock.plan.selection import RefreshSelection
        from penstock.runtime import run_update

        os.link(file, self.folder / "in" / file.name)
        config = replace(load_project(self.folder), storage=str(self.folder / ".penstock"))
        outcome = run_update(config, RefreshSelection(), spark=spark)
        if outcome.errors:
            raise SystemExit(str(outcome.errors[0]))
        told = [batch for event in read_events(config.storage) if (batch := batch_progress_of(event)) is not None]
        new = [batch for batch in told[self.batches :] if batch.num_input_rows]
        self.batches = len(told)
        if timed:
            self.seconds.append(sum(batch.batch_duration_ms or 0 for batch in new) / 1000)
            self.counted += sum(batch.lateness.rows for batch in new if batch.lateness is not None)


def main() -> int:
    from benchmarks.session import start_session, stop_session
    from penstock.spark.session.launch import SessionConfig

    given = _arguments()
    runs: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="lateness-", dir=given.work, ignore_cleanup_errors=True) as folder,
        _sampling(given.sample_every),
    ):
        spark = start_session(SessionConfig("lateness", python_roots=(Path(folder),)))
        for source in given.format:
            for late in given.late:
                place = Path(folder) / f"{source}-{late}"
                runs += _compared(place, spark, given, late=late, source=source)
                shutil.rmtree(place, ignore_errors=True)  # the state store may still tidy up
        stop_session(spark)
    publish("lateness", {"rows": given.rows, "turns": given.sample_every}, runs, given.results)
    return 0


def _compared(folder: Path, spark: Any, given: argparse.Namespace, *, late: float, source: str) -> list[dict[str, Any]]:
    rows, turns = given.rows, given.sample_every
    pipelines = {setting: _Pipeline(folder / setting, []) for setting in _SETTINGS}
    for setting, pipeline in pipelines.items():
        (pipeline.folder / "in").mkdir(parents=True)
        (pipeline.folder / "penstock.yml").write_text("name: lateness\nschema: bench\n")
        (pipeline.folder / "pipeline.py").write_text(_PIPELINE.format(setting=setting, format=source))
    # An update runs two batches: one with rows, and one that closes windows. The first turns warm the compiler up.
    warm = turns // 2 + 1
    for turn in range(-warm, turns):
        file = folder / f"{turn + warm:03}.{source}"
        _write(file, rows if turn >= -2 else 10, late, turn + warm)
        for setting, pipeline in pipelines.items():
            pipeline.take(file, spark, timed=turn >= 0)
            print(f"{source}, {late:g} late, turn {turn}: {setting}: {(pipeline.seconds or [0])[-1]:.2f} s", flush=True)
        file.unlink()
    expected = {_PLAIN: 0, "sample": rows, "true": rows * turns}
    counted = {setting: pipeline.counted for setting, pipeline in pipelines.items()}
    if counted != expected:
        raise SystemExit(f"measured were {counted}, not {expected}")
    found = []
    for setting, pipeline in pipelines.items():
        run = {"what": f"{source}, {late:g} late: {setting}", "seconds": [round(each, 3) for each in pipeline.seconds]}
        ratios = [mine / plain for mine, plain in zip(pipeline.seconds, pipelines[_PLAIN].seconds, strict=True)]
        compared = {
            "base": f"{source}, {late:g} late: {_PLAIN}",
            "ratio": round(sum(pipeline.seconds) / sum(pipelines[_PLAIN].seconds), 3),
            "median_ratio": round(statistics.median(ratios), 3),
            "goal": _GOAL if not late and setting == "sample" else None,
        }
        found.append(run | (compared if setting != _PLAIN else dict.fromkeys(compared)))
    return found


@contextmanager
def _sampling(every: int) -> Iterator[None]:
    """Has one of `every` batches be a sample, and no other, unless that is how it is anyway."""
    if every == SAMPLED_BATCHES:
        yield
        return
    with mock.patch.multiple(lateness, SAMPLED_BATCHES=every, FIRST_SAMPLES=()):
        yield


def _write(file: Path, rows: int, late: float, turn: int) -> None:
    draw = numpy.random.default_rng(turn)
    numbers, minute = numpy.arange(rows), 60_000_000
    at = draw.integers(0, 600, rows) * 100_000 + (turn - 3 * (draw.random(rows) < late)) * minute
    columns = {
        "shop": pa.array(numbers % 500).cast(pa.string()),
        "amount": pa.array(numbers % 977 + 0.25),
        "at": pa.array(at + _START).cast(pa.timestamp("us", "UTC")),
    }
    if file.suffix == ".parquet":
        parquet.write_table(pa.table(columns), file)
        return
    columns["at"] = compute.strftime(columns["at"], "%Y-%m-%dT%H:%M:%SZ")
    lines = zip(*(column.to_pylist() for column in columns.values()), strict=True)
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f'{{"shop":"{shop}","amount":{amount},"at":"{time}"}}\n' for shop, amount, time in lines)


def _arguments() -> argparse.Namespace:
    parser = parser_of("lateness", __doc__)
    parser.add_argument("--rows", type=int, default=400_000, help="of each batch")
    parser.add_argument("--late", type=float, nargs="+", default=[0, 0.01, 0.5], metavar="SHARE")
    parser.add_argument("--format", nargs="+", default=["json", "parquet"], choices=["json", "parquet"])
    parser.add_argument("--sample-every", type=int, default=SAMPLED_BATCHES, metavar="N", help="batches; as many turns")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
