"""What Delta is told of a table's transactions is what it would find in the log, and saves it the look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from pyspark.sql import SparkSession

from penstock.config.values.trigger import Trigger, TriggerKind
from penstock.spark import _jvm
from penstock.spark.accelerators import known_transactions
from penstock.spark.accelerators.known_transactions import remember_transactions
from penstock.spark.accelerators.own_classes import DELTA_SINK
from penstock.spark.streams import writes
from penstock.spark.streams.writes import DeltaWriter, append_to_table, start_stream

pytestmark = pytest.mark.accelerated


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    """A table with two applications' transactions."""
    path = str(tmp_path / "table")
    for transaction in [("orders/bronze", 0), ("other", 7), ("orders/bronze", 1)]:
        append_to_table(spark.range(1), path, transaction)
    return path


def _snapshot(spark: SparkSession, path: str, *, fresh: bool = False) -> Any:
    log = _jvm.jvm(spark).org.apache.spark.sql.delta.DeltaLog
    if fresh:
        log.invalidateCache(_jvm.java_session(spark), _jvm.jvm(spark).org.apache.hadoop.fs.Path(path))
    return log.forTable(_jvm.java_session(spark), path).unsafeVolatileSnapshot()


def test_the_snapshot_knows_what_the_log_says(spark: SparkSession, table: str) -> None:
    assert remember_transactions(spark, table)
    told = _snapshot(spark, table).transactions()
    found = _snapshot(spark, table, fresh=True).transactions()
    assert told.equals(found), f"{told.toString()} is not {found.toString()}"
    assert (told.size(), told.apply("orders/bronze"), told.apply("other")) == (2, 1, 7)


def test_a_batch_that_is_committed_is_still_left_out(spark: SparkSession, table: str) -> None:
    assert remember_transactions(spark, table)
    append_to_table(spark.range(1), table, ("orders/bronze", 1))
    append_to_table(spark.range(1), table, ("orders/bronze", 2))
    assert spark.read.format("delta").load(table).count() == 4


def test_what_was_told_ends_with_the_next_commit_of_anybody(spark: SparkSession, table: str) -> None:
    assert remember_transactions(spark, table)
    elsewhere = CommitProperties(app_transactions=[Transaction("orders/bronze", 2)])
    rows = spark.range(1).toArrow()
    write_deltalake(table, rows, mode="append", commit_properties=elsewhere)
    append_to_table(spark.range(1), table, ("orders/bronze", 2))
    assert spark.read.format("delta").load(table).count() == 4
    assert not remember_transactions(spark, table), "another engine's commit has no checksum"


@pytest.mark.parametrize("path", ["nowhere://bucket/table", "file:relative"])
def test_a_log_that_cannot_be_had_is_no_failure(spark: SparkSession, path: str) -> None:
    """Delta throws an IOException for the first, which Scala does not declare; after a commit it must end no query."""
    java, session = _jvm.jvm(spark).penstock.delta, _jvm.java_session(spark)
    assert java.KnownTransactions.remember(session, path) is False
    assert java.LogCheckpoints.afterBatch(session, path) is False


def test_the_look_through_the_log_is_saved(spark: SparkSession, table: str) -> None:
    assert remember_transactions(spark, table)
    spark.sparkContext.setJobGroup("known", "transactions")
    _snapshot(spark, table).transactions()
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("known")
    _snapshot(spark, table, fresh=True).transactions()
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("known"), "Delta looks by itself"
    spark.sparkContext.setJobGroup("", "")


# Slow: what Delta does by itself, to compare with.
@pytest.mark.parametrize(
    ("sink", "looks"), [(DELTA_SINK, False), pytest.param("no.such.sink", True, marks=pytest.mark.slow)]
)
def test_each_batch_of_a_stream_is_told_before_the_next_begins(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str, looks: bool
) -> None:
    batches = 5
    for number in range(batches):
        spark.range(number, number + 1).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    monkeypatch.setattr(writes, "DELTA_SINK", sink)
    query = start_stream(
        spark.readStream.name("numbers")
        .schema("id LONG")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in")),
        DeltaWriter(str(tmp_path / "out"), complete=False),
        query_name="told",
        checkpoint=str(tmp_path / "checkpoint"),
        trigger=Trigger(TriggerKind.AVAILABLE_NOW),
    )
    query.awaitTermination()
    assert sorted(row.id for row in spark.read.format("delta").load(str(tmp_path / "out")).collect()) == [
        *range(batches)
    ]
    progress = query.lastProgress
    assert progress
    assert "DeltaSink[" in progress["sink"]["description"], "accounts and checkpoints go by that"
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId)))
    assert (jobs > batches + 1) is looks, f"{jobs} jobs for {batches} batches: the first one has to look"


def test_without_the_java_classes_delta_looks_by_itself(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_transactions, "jvm", lambda spark: _jvm.jvm(spark).nowhere)
    assert not remember_transactions(spark, table)


def test_a_table_that_is_not_there_is_no_error(spark: SparkSession, tmp_path: Path) -> None:
    assert not remember_transactions(spark, str(tmp_path / "nothing"))
