"""Times update mode: changed windows into a large table: `python -m benchmarks.update [--rows N] [--changes N]`.

Two ways, batch by batch in turn, in one JVM: what an update flow does with a batch once its rows are judged, and the
MERGE of a `foreachBatch` as it is usually written. All tables have the properties of an update flow's target. The
windows of a batch are the newest ones, which is what a watermark leaves to change, or lie anywhere in the table, as
groups without a time do; one in twenty is new. The first batches are not measured: until the JVM has compiled what they
run, they take several times as long.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.differences import require_none
from benchmarks.session import start_session, stop_session
from benchmarks.update.check import problems
from penstock.graph.resolved import UpdateKeys
from penstock.plan.change_capture import CHANGE_FEED, LAYOUT
from penstock.spark import _jvm
from penstock.spark.session.launch import SessionConfig
from penstock.spark.writers.update_writer import UpdateWriter

_GOAL_SECONDS = 1.5
_SHOPS = 100
_UPDATE, _BY_HAND = "update mode", "MERGE by hand"
_NEWEST, _ANYWHERE = "newest windows", "windows anywhere"
_PLACES = {"newest": _NEWEST, "anywhere": _ANYWHERE}
_RECENT = 2_000
"""How many windows, the newest ones, change in turn."""

Way = Callable[[DataFrame, int, int], None]
Measured = dict[tuple[str, str], list[float]]
"""Seconds of each batch, by place of its windows and way."""


def main() -> int:
    given = _arguments()
    places = [_PLACES[name] for name in given.places]
    with tempfile.TemporaryDirectory(prefix="update-", dir=given.work) as folder:
        spark = start_session(SessionConfig("update", spark_conf={"spark.driver.memory": given.memory}))
        _windows(spark.range(given.rows)).write.parquet(_first(folder))
        ways = {
            (place, what): make(spark, _table(folder, place, what), spark.read.parquet(_first(folder)))
            for place in places
            for what, make in ((_UPDATE, _by_penstock), (_BY_HAND, _by_hand))
        }
        seconds = _measure(spark, ways, given, folder)
        for place in places:
            tables = {f"{place}, {what}": _table(folder, place, what) for what in (_UPDATE, _BY_HAND)}
            batches = [_batch(folder, place, number) for number in range(1, given.warm_up + given.batches + 1)]
            require_none(problems(spark, tables, [_first(folder), *batches]))
        stop_session(spark)
    arguments = {name: getattr(given, name) for name in ("rows", "changes", "batches", "warm_up", "memory", "places")}
    publish("update", arguments, _results(seconds), given.results)
    return 0


def _by_penstock(spark: SparkSession, path: str, first: DataFrame) -> Way:
    _create(spark, path, first)
    writer = UpdateWriter("windows", "bench.windows", path, UpdateKeys(("window", "shop"), distinct=True))

    def apply(batch: DataFrame, number: int, count: int) -> None:
        held = batch.localCheckpoint()
        writer.apply(held, ("bench", number), count)
        _jvm.release(held)

    return apply


def _by_hand(spark: SparkSession, path: str, first: DataFrame) -> Way:
    _create(spark, path, first)

    def apply(batch: DataFrame, number: int, count: int) -> None:
        table = DeltaTable.forPath(batch.sparkSession, path).alias("t")
        merge = table.merge(batch.alias("s"), "t.window <=> s.window AND t.shop <=> s.shop")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    return apply


def _measure(spark: SparkSession, ways: dict[tuple[str, str], Way], given: argparse.Namespace, folder: str) -> Measured:
    measured: Measured = {each: [] for each in ways}
    for number in range(1, given.warm_up + given.batches + 1):
        counted = number > given.warm_up
        for (place, what), apply in ways.items():
            path = _batch(folder, place, number)
            if what == _UPDATE:  # the first one of a place
                _changed(spark, number, given, place).write.parquet(path)
            batch = spark.read.parquet(path)
            count = batch.count()
            started = time.monotonic()
            apply(batch, number, count)
            seconds = time.monotonic() - started
            print(f"{'batch' if counted else 'warm-up'} {number}: {place}, {what} {seconds:.2f} s", flush=True)
            if counted:
                measured[place, what].append(seconds)
    return measured


def _results(measured: Measured) -> list[dict[str, Any]]:
    return [
        {
            "what": f"{place}, {what}",
            "goal": _GOAL_SECONDS if (place, what) == (_NEWEST, _UPDATE) else None,
            "seconds": [round(each, 3) for each in seconds],
            "ratio_to_hand": round(statistics.median(seconds) / statistics.median(measured[place, _BY_HAND]), 2),
        }
        for (place, what), seconds in measured.items()
    ]


def _first(folder: str) -> str:
    return f"{folder}/first"


def _batch(folder: str, place: str, number: int) -> str:
    return f"{folder}/{place}{number}"


def _table(folder: str, place: str, what: str) -> str:
    return f"{folder}/{place}-{what}"


def _create(spark: SparkSession, path: str, first: DataFrame) -> None:
    builder = DeltaTable.createIfNotExists(spark).location(path).addColumns(first.schema)
    for name, value in {CHANGE_FEED: "true", **LAYOUT}.items():
        builder = builder.property(name, value)
    builder.execute()
    first.write.format("delta").mode("append").save(path)


def _changed(spark: SparkSession, number: int, given: argparse.Namespace, place: str) -> DataFrame:
    first = given.rows - _RECENT if place == _NEWEST else 0
    old = first + (sf.rand(number) * (given.rows - first)).cast("long")
    new = given.rows + number * given.changes + sf.col("id")
    numbers = spark.range(given.changes).select(sf.when(sf.col("id") % 20 == 0, new).otherwise(old).alias("id"))
    return _windows(numbers.distinct()).coalesce(1)


def _windows(numbers: DataFrame) -> DataFrame:
    start = sf.timestamp_seconds(sf.lit(1_767_225_600) + 300 * sf.floor(sf.col("id") / _SHOPS))
    return numbers.select(
        sf.struct(start.alias("start"), (start + sf.expr("INTERVAL 5 MINUTES")).alias("end")).alias("window"),
        sf.concat(sf.lit("shop "), sf.col("id") % _SHOPS).alias("shop"),
        (sf.rand() * 100).cast("long").alias("orders"),
        (sf.rand() * 1000).alias("revenue"),
    )


def _arguments() -> argparse.Namespace:
    parser = parser_of("update", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=1_000, help="windows that a batch changes")
    parser.add_argument("--batches", type=int, default=5, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=30, help="batches before those, not measured")
    parser.add_argument("--memory", default="1g", help="of the driver")
    parser.add_argument("--places", nargs="+", choices=_PLACES, default=list(_PLACES), help="where the windows lie")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
