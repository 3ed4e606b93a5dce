"""Times a jdbc sink: rows into a large table of PostgreSQL: `python -m benchmarks.jdbc [--rows N] [--changes N]`.

Three ways, batch by batch in turn, in one JVM and on one server, which syncs its writes to the disk: what an upsert
sink and an appending one do with a batch, and `df.write.jdbc` as it is usually written, which appends, and repeats the
rows of a batch that runs again. Of the rows that are upserted one in two replaces one that is there. The first batches
are not measured.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.postgres_server import PostgresServer

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.session import start_session, stop_session
from penstock.connectors.jdbc.connection import with_defaults
from penstock.connectors.jdbc.connector import JdbcBatches
from penstock.connectors.jdbc.prepare import prepare
from penstock.errors import SourceLocation
from penstock.graph.sinks.jdbc_target import JdbcTarget, TableName
from penstock.spark.session.launch import SessionConfig
from penstock.spark.sinks.sink import SinkBatch
from penstock.storage.checkpoint.folder import CheckpointFolder

_GOAL_ROWS_PER_SECOND = 20_000
_UPSERT, _APPEND, _PLAIN = "upsert sink", "append sink", "df.write.jdbc"
Way = Callable[[DataFrame, int], object]


def main() -> int:
    given = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="jdbc-", dir=given.work) as folder,
        PostgresServer(fsync="on", shared_buffers="256MB", max_wal_size="4GB") as server,
    ):
        spark = start_session(SessionConfig("jdbc", spark_conf={"spark.driver.memory": given.memory}))
        for name in ("upsert", "append", "plain"):
            _create(server, name, given.rows)
        empty = _changed(spark, 0, given).limit(0)
        ways = {
            _UPSERT: _sink(server, empty, "upsert"),
            _APPEND: _sink(server, empty, "append"),
            _PLAIN: _plain(server),
        }
        seconds = _measure(spark, ways, given, folder)
        _check(server, given)
        stop_session(spark)
    arguments = {name: getattr(given, name) for name in ("rows", "changes", "batches", "warm_up", "memory")}
    publish("jdbc", arguments, _results(seconds, given.changes), given.results)
    return 0


def _sink(server: PostgresServer, empty: DataFrame, mode: str) -> Way:
    keys = ("id",) if mode == "upsert" else ()
    target = JdbcTarget(TableName(None, mode), "upsert" if keys else "append", keys, None, None, 30)
    name = f"bench.{mode}"
    place = {"location": SourceLocation(__file__, 1), "dataset": name, "name": name, "flow": mode}
    options = with_defaults(server.options)
    new = CheckpointFolder.open("no checkpoint")
    sink = JdbcBatches(prepare(empty, target, options, flow=mode, checkpoint=new, place=place))
    return lambda batch, number: sink.write(batch, SinkBatch("bench", number))


def _plain(server: PostgresServer) -> Way:
    login = {"user": server.options["user"], "password": server.options["password"], "stringtype": "unspecified"}
    return lambda batch, _: batch.write.jdbc(server.url(), "plain", mode="append", properties=login)


def _measure(
    spark: SparkSession, ways: dict[str, Way], given: argparse.Namespace, folder: str
) -> dict[str, list[float]]:
    measured: dict[str, list[float]] = {what: [] for what in ways}
    for number in range(given.warm_up + given.batches):
        _changed(spark, number, given).write.parquet(f"{folder}/batch{number}")
        batch = spark.read.parquet(f"{folder}/batch{number}")
        for what, apply in ways.items():
            started = time.monotonic()
            apply(batch, number)
            seconds = time.monotonic() - started
            is_measured = number >= given.warm_up
            print(f"{'batch' if is_measured else 'warm-up'} {number}: {what} {seconds:.2f} s", flush=True)
            if is_measured:
                measured[what].append(seconds)
    return measured


def _results(measured: dict[str, list[float]], rows: int) -> list[dict[str, Any]]:
    plain = statistics.median(measured[_PLAIN])
    return [
        {
            "what": what,
            "seconds": [round(each, 3) for each in seconds],
            "rows_per_second": round(rows / statistics.median(seconds)),
            "goal_rows_per_second": _GOAL_ROWS_PER_SECOND if what == _UPSERT else None,
            "ratio": round(statistics.median(seconds) / plain, 2),
            "base": _PLAIN,
            "goal": None,
        }
        for what, seconds in measured.items()
    ]


def _check(server: PostgresServer, given: argparse.Namespace) -> None:
    """Gives no number for wrong tables."""
    batches = given.warm_up + given.batches
    written = {
        "upsert": given.rows + batches * (given.changes // 2),
        "append": given.rows + batches * given.changes,
        "plain": given.rows + batches * given.changes,
    }
    found = {name: server.rows(f"SELECT count(*) FROM {name}")[0][0] for name in written}
    if found != written:
        raise SystemExit(f"the tables have {found} rows instead of {written}")


def _create(server: PostgresServer, name: str, rows: int) -> None:
    key = "PRIMARY KEY" if name == "upsert" else ""
    server.execute(
        f"CREATE TABLE {name} (id bigint {key}, shop text, amount numeric(10,2), details jsonb, at timestamptz)",
        f"INSERT INTO {name} SELECT n, 'shop ' || n % 100, n % 1000, '{{}}', now() FROM generate_series(1, {rows}) n",
        f"VACUUM ANALYZE {name}",
    )


def _changed(spark: SparkSession, number: int, given: argparse.Namespace) -> DataFrame:
    """Returns rows anywhere in the table, one in two of them new."""
    half = given.changes // 2
    # A stride that shares no factor with the number of rows visits each row once.
    old = (sf.col("id") * 7_919 + number * half) % given.rows + 1
    new = given.rows + number * half + sf.col("id") - half + 1
    numbers = spark.range(2 * half, numPartitions=2)
    return numbers.select(
        sf.when(sf.col("id") < half, old).otherwise(new).alias("id"),
        sf.concat(sf.lit("shop "), sf.col("id") % 100).alias("shop"),
        (sf.rand(number) * 1000).cast("decimal(10,2)").alias("amount"),
        sf.to_json(sf.struct(sf.lit(number).alias("batch"), sf.col("id").alias("line"))).alias("details"),
        sf.current_timestamp().alias("at"),
    )


def _arguments() -> argparse.Namespace:
    parser = parser_of("jdbc", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=100_000, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=5, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=3, help="batches before those, not measured")
    parser.add_argument("--memory", default="1g", help="of the driver")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
