"""What the same flow costs when its author writes the rules with PySpark alone: the least that rules can cost."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.expectations.variants import FILES_IN_BATCH, SCHEMA, TEN_RULES, WARM_UP

Total = Counter[str]


def ten_conditions(spark: SparkSession, source: Path, folder: Path) -> tuple[float, Total]:
    """Ten conditions in one `where`; nothing is counted. Returns the seconds after the warm-up and the rows written."""
    every = functools.reduce(lambda left, right: left & right, map(sf.expr, TEN_RULES.values()))
    rows = _read(spark, source).where(every)
    query = rows.writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    return _run(spark, query.trigger(availableNow=True).start(str(folder / "orders")), folder / "orders")


def quarantine_rows(spark: SparkSession, source: Path, folder: Path) -> tuple[float, Total]:
    """Two idempotent writes of a persisted batch, as Delta's documentation advises; nothing is counted."""
    good, bad = folder / "orders", folder / "orders_quarantine"

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        for rows, path in (
            (batch.where("amount > 0"), good),
            (batch.where("NOT coalesce(amount > 0, false)"), bad),
        ):
            once = rows.write.format("delta").mode("append").option("txnAppId", str(path))
            once.option("txnVersion", number).save(str(path))
        batch.unpersist()

    query = (
        _read(spark, source).writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    )
    return _run(spark, query.trigger(availableNow=True).start(), good, bad)


def _read(spark: SparkSession, source: Path) -> DataFrame:
    # Sources have names in sessions of Penstock.
    return spark.readStream.name("orders").schema(SCHEMA).option("maxFilesPerTrigger", FILES_IN_BATCH).json(str(source))


def _run(
    spark: SparkSession, query: StreamingQuery, table: Path, quarantine: Path | None = None
) -> tuple[float, Total]:
    query.awaitTermination()
    batches = [each for each in query.recentProgress if each.batchId >= WARM_UP]
    rows = Counter(num_output_rows=spark.read.format("delta").load(str(table)).count())
    if quarantine is not None:
        rows["quarantined_records"] = spark.read.format("delta").load(str(quarantine)).count()
    return sum(each.durationMs["triggerExecution"] for each in batches) / 1000, rows
