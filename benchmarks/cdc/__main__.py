"""Times batches of changes into a large table: `python -m benchmarks.cdc [--rows N] [--changes N] [--batches N]`.

Three ways: SCD type 1 and 2 as a change flow applies them (change log, one MERGE), and the MERGE that a careful person
would write by hand for SCD type 1 (newest event of each key; the sequence is a column of the table, no tombstones).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.compare import render
from benchmarks.orders.systems import ROOT
from benchmarks.results import FOLDER, write_result
from penstock.errors import SourceLocation
from penstock.graph.elements import ChangeFlow, ColumnSelection, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.schema import Schema
from penstock.plan.change_capture import CHANGE_FEED
from penstock.spark.changes.log import ChangeLog
from penstock.spark.changes.resolve import resolve_changes
from penstock.spark.changes.writer import ChangeWriter
from penstock.spark.session import SessionConfig, start_session, stop_session
from penstock.spark.tables import create_table

_TARGET = Identifier("bench", "customers")
_GOALS = {"scd1": 10_000, "scd2": 5_000, "scd1, MERGE by hand": 10_000}
Apply = Callable[[DataFrame, int], None]


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="cdc-", dir=given.work) as folder:
        spark = start_session(SessionConfig("cdc", spark_conf={"spark.driver.memory": given.memory}))
        first = _written(_events(spark, given.rows, 0, given.rows), f"{folder}/first")
        batches = [
            _written(_events(spark, given.changes, number, given.rows * 11 // 10), f"{folder}/batch{number}")
            for number in range(1, given.batches + 2)
        ]
        properties = {CHANGE_FEED: "true"} | dict(each.split("=", 1) for each in given.property)
        ways: dict[str, Apply] = {
            "scd1": _change_flow(spark, f"{folder}/scd1", 1, properties),
            "scd2": _change_flow(spark, f"{folder}/scd2", 2, properties),
            "scd1, MERGE by hand": _by_hand(spark, f"{folder}/hand", properties),
        }
        runs = [_timed(what, apply, first, batches, given.changes) for what, apply in ways.items()]
        stop_session(spark)
    for run in runs:
        run["ratio_to_hand"] = round(min(runs[-1]["seconds"]) / min(run["seconds"]), 2)
    arguments = {name: getattr(given, name) for name in ("rows", "changes", "batches", "memory", "property")}
    path = write_result("cdc", arguments, runs, given.results)
    print(render([path]))
    print(f"written to {path}")
    return 0


def _timed(what: str, apply: Apply, first: DataFrame, batches: list[DataFrame], changes: int) -> dict[str, Any]:
    load = _seconds(apply, first, 0)
    _seconds(apply, batches[0], 1)  # once unmeasured: compiled code, file cache
    seconds = [round(_seconds(apply, batch, number), 3) for number, batch in enumerate(batches[1:], 2)]
    speeds = [round(changes / each) for each in seconds]
    print(f"{what}: {min(speeds)} to {max(speeds)} rows/s; the first rows in {load:.1f} s", flush=True)
    return {
        "what": what,
        "goal_rows_per_second": _GOALS[what],
        "goal": changes / _GOALS[what],
        "seconds": seconds,
        "rows_per_second": speeds,
        "first_load_seconds": round(load, 3),
    }


def _seconds(apply: Apply, batch: DataFrame, number: int) -> float:
    started = time.monotonic()
    apply(batch, number)
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


def _written(events: DataFrame, path: str) -> DataFrame:
    events.write.parquet(path)
    return events.sparkSession.read.parquet(path)


def _change_flow(spark: SparkSession, path: str, scd_type: Literal[1, 2], properties: dict[str, str]) -> Apply:
    flow = ChangeFlow(
        name="bench",
        target=_TARGET,
        function=lambda: None,
        location=SourceLocation("bench.py", 1),
        keys=("id",),
        sequence_by="at",
        scd_type=scd_type,
        apply_as_deletes="op = 'D'",
        columns=ColumnSelection(("op", "at"), excluded=True),
    )
    changes = resolve_changes(flow, _events(spark, 1, 0, 1))
    table = StreamingTable(identifier=_TARGET, location=flow.location)
    create_table(spark, table, path=path, schema=Schema(changes.target_schema.json()), properties=properties)
    log = ChangeLog(f"{path}_log", keeps_rows=changes.applied.keeps_rows, tombstone_seconds=172_800)
    writer = ChangeWriter(flow, path, log, truncates=False)

    def apply(batch: DataFrame, number: int) -> None:
        writer.apply(batch, ("bench", number))

    return apply


def _by_hand(spark: SparkSession, path: str, properties: dict[str, str]) -> Apply:
    schema = "id LONG, at LONG, name STRING, city STRING, amount DOUBLE"
    builder = DeltaTable.createIfNotExists(spark).location(path).addColumns(spark.createDataFrame([], schema).schema)
    for name, value in properties.items():
        builder = builder.property(name, value)
    builder.execute()

    def apply(batch: DataFrame, number: int) -> None:
        if number == 0:
            batch.drop("op").write.format("delta").mode("append").save(path)
            return
        columns = ["id", "at", "name", "city", "amount"]
        newest = batch.groupBy("id").agg(sf.max_by(sf.struct("op", *columns[1:]), "at").alias("e")).select("id", "e.*")
        values = {name: f"s.{name}" for name in columns}
        (
            DeltaTable.forPath(spark, path)
            .alias("t")
            .merge(sf.broadcast(newest).alias("s"), "t.id = s.id")
            .whenMatchedDelete("s.op = 'D' AND s.at > t.at")
            .whenMatchedUpdate("s.at > t.at", dict(values))
            .whenNotMatchedInsert("s.op = 'U'", dict(values))
            .execute()
        )

    return apply


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cdc", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--memory", default="1g", help="of the driver")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help="of the tables")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench")
    parser.add_argument("--results", type=Path, default=FOLDER)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    return given


if __name__ == "__main__":
    raise SystemExit(main())
