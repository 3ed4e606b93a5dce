"""Times batches of changes into a large table: `python -m benchmarks.cdc [--rows N] [--changes N] [--batches N]`.

Three ways, batch by batch in turn, in one JVM: SCD type 1 and 2 as a change flow applies them (change log, one
MERGE), and a MERGE by hand for SCD type 1. All tables have the properties of a change flow's target. The first
batches are not measured: until the JVM has compiled what they run, they take several times as long.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.arguments import parse, parser_of
from benchmarks.cdc.check import problems
from benchmarks.cdc.ways import ByHand, ChangeFlowWay, Way, steps
from benchmarks.compare import publish
from benchmarks.differences import require_none
from benchmarks.session import start_session, stop_session
from penstock.plan.change_capture import CHANGE_FEED, LAYOUT
from penstock.spark.session.launch import SessionConfig

_BY_HAND = "MERGE by hand"
_GOALS = {"scd1": 10_000, "scd2": 5_000, _BY_HAND: 10_000}  # rows a second


@dataclass(slots=True)
class _Measured:
    way: Way
    first_load: float = 0.0
    seconds: list[float] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=list)


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="cdc-", dir=given.work) as folder:
        spark = start_session(SessionConfig("cdc", spark_conf={"spark.driver.memory": given.memory}))
        properties = {CHANGE_FEED: "true", **LAYOUT} | dict(each.split("=", 1) for each in given.property)
        ways: dict[str, Way] = {
            "scd1": ChangeFlowWay(spark, f"{folder}/scd1", 1, properties),
            "scd2": ChangeFlowWay(spark, f"{folder}/scd2", 2, properties),
            _BY_HAND: ByHand(spark, f"{folder}/hand", properties),
        }
        measured = _measure(spark, ways, given, folder)
        tables = {what: way.path for what, way in ways.items()}
        batches = [_batch(folder, number) for number in range(given.warm_up + given.batches + 1)]
        require_none(problems(spark, tables, batches, _BY_HAND))
        stop_session(spark)
    arguments = {name: getattr(given, name) for name in ("rows", "changes", "batches", "warm_up", "memory", "property")}
    publish("cdc", arguments, _results(measured, given.changes), given.results)
    return 0


def _measure(spark: SparkSession, ways: dict[str, Way], given: argparse.Namespace, folder: str) -> dict[str, _Measured]:
    first = _written(_events(spark, given.rows, 0, given.rows), _batch(folder, 0))
    measured = {}
    for what, way in ways.items():
        measured[what] = _Measured(way, first_load=_seconds(way, first, 0, given.rows))
    for number in range(1, given.warm_up + given.batches + 1):
        batch = _written(_events(spark, given.changes, number, given.rows * 11 // 10), _batch(folder, number))
        warm = number > given.warm_up
        said = []
        for what, each in measured.items():
            spark.sparkContext.setJobGroup(f"{what} {number}", what)
            seconds = _seconds(each.way, batch, number, given.changes)
            jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"{what} {number}"))
            said.append(f"{what} {seconds:.2f} s, {jobs} jobs")
            if warm:
                each.seconds.append(seconds)
                each.jobs.append(jobs)
                each.steps.append(steps(each.way, seconds))
        print(f"{'batch' if warm else 'warm-up'} {number}: {'; '.join(said)}", flush=True)
    return measured


def _results(measured: dict[str, _Measured], changes: int) -> list[dict[str, Any]]:
    by_hand = statistics.median(measured[_BY_HAND].seconds)
    return [
        {
            "what": what,
            "goal_rows_per_second": _GOALS[what],
            "seconds": [round(seconds, 3) for seconds in each.seconds],
            "rows_per_second": round(changes / statistics.median(each.seconds)),
            "ratio_to_hand": round(statistics.median(each.seconds) / by_hand, 2),
            "jobs": statistics.median(each.jobs),
            "steps": {name: round(statistics.median(step[name] for step in each.steps), 3) for name in each.steps[0]},
            "first_load_seconds": round(each.first_load, 3),
        }
        for what, each in measured.items()
    ]


def _seconds(way: Way, batch: DataFrame, number: int, count: int) -> float:
    started = time.monotonic()
    way.apply(batch, number, count)
    return time.monotonic() - started


def _events(spark: SparkSession, count: int, seed: int, keys: int) -> DataFrame:
    """Returns `count` events: the first load has every key once, later ones random keys and some deletes."""
    key = sf.col("id") if seed == 0 else (sf.rand(seed) * keys).cast("long")
    deletes = sf.lit("U") if seed == 0 else sf.when(sf.rand(seed + 1000) < 0.05, "D").otherwise("U")
    return spark.range(count).select(
        key.alias("id"),
        (sf.lit(seed * 10_000_000) + sf.col("id")).alias("at"),
        deletes.alias("op"),
        sf.concat(sf.lit("name "), key).alias("name"),
        sf.concat(sf.lit("city "), sf.col("id") % 1000).alias("city"),
        (sf.rand(seed + 2000) * 1000).alias("amount"),
    )


def _batch(folder: str, number: int) -> str:
    return f"{folder}/batch{number}"


def _written(events: DataFrame, path: str) -> DataFrame:
    events.write.parquet(path)
    return events.sparkSession.read.parquet(path)


def _arguments() -> argparse.Namespace:
    parser = parser_of("cdc", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=5, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=10, help="batches before those, not measured")
    parser.add_argument("--memory", default="1g", help="of the driver")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help="of the tables")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
