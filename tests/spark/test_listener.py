from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark.streams.listener import ProgressListener

_PAUSE = "spark.sql.streaming.noDataProgressEventInterval"


def test_a_query_that_finds_nothing_is_idle(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"id": 1}\n')
    listener, idle = ProgressListener(), threading.Semaphore(0)
    told: list[str] = []

    def is_idle() -> None:
        told.append("idle")
        idle.release()

    listener.handle("idle", lambda _: told.append("batch"), idle=is_idle)
    listener.attach(spark)
    before = str(spark.conf.get(_PAUSE))
    spark.conf.set(_PAUSE, "100")
    try:
        source = spark.readStream.schema("id LONG").name("files").json(f"{tmp_path}/in")
        writer = source.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/check")
        query = writer.trigger(processingTime="50 milliseconds").queryName("idle").start()
        assert idle.acquire(timeout=30)
        assert not idle.acquire(timeout=0.5), "once, although Spark says it every 100 ms"
        (tmp_path / "in" / "1.json").write_text('{"id": 2}\n')
        assert idle.acquire(timeout=30)
        assert told == ["batch", "idle", "batch", "idle"]
        query.stop()
        assert listener.await_end(str(query.runId), timeout=30)
        assert not listener._names, "what has ended is forgotten"
    finally:
        spark.conf.set(_PAUSE, before)
        listener.detach(spark)


def test_progress_reaches_the_flow_of_that_name_before_its_end(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        (tmp_path / "in" / f"{number}.json").write_text('{"id": 1}\n')
    listener = ProgressListener()
    mine: list[dict[str, Any]] = []
    other: list[dict[str, Any]] = []
    listener.handle("mine", mine.append)
    listener.handle("other", other.append)
    listener.attach(spark)
    try:
        source = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).name("files").json(f"{tmp_path}/in")
        writer = source.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", f"{tmp_path}/check").queryName("mine").start()
        query.awaitTermination()
        assert listener.await_end(str(query.runId), timeout=30)
        assert [(each["batchId"], each["numInputRows"]) for each in mine if each["numInputRows"]] == [(0, 1), (1, 1)]
        assert other == []
        assert not listener.await_end("never-ran", timeout=0.05)
    finally:
        listener.detach(spark)
    again = writer.option("checkpointLocation", f"{tmp_path}/again").queryName("mine").start()
    again.awaitTermination()
    assert not listener.await_end(str(again.runId), timeout=0.5), "it listens no more"
