"""A short run that uses what pipelines use, so that a class archive recorded over it holds the right classes.

`setup/class_archive.py` runs it in a process of its own, with the path of the archive.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.spark._jvm import jvm
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import start_session, stop_session

_ROWS = 50
_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    # An archive holds classes of the jars that Java compares by path and time; Penstock's own jar is not among them.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.delta.logStore.file.impl": "io.delta.storage.HDFSLogStore",
}


def record(archive: Path) -> None:
    """Writes a class archive of a session that has worked through every step below to the file `archive`."""
    spark = start_session(
        SessionConfig(
            name="class archive",
            master="local[2]",
            spark_conf=_SETTINGS,
            class_archive_to_record=archive,
        )
    )
    with tempfile.TemporaryDirectory(prefix="penstock-training-") as folder:
        _train(spark, Path(folder))
    stop_session(spark)


def _train(spark: SparkSession, folder: Path) -> None:
    bronze, silver, gold = (str(folder / name) for name in ("bronze", "silver", "gold"))
    _write_orders(folder / "orders")
    arriving = (
        spark.readStream.schema("id LONG, amount DOUBLE, product STRING, at TIMESTAMP, _corrupt_record STRING")
        .option("columnNameOfCorruptRecord", "_corrupt_record")
        .name("orders")
        .json(str(folder / "orders"))
        .withColumn("file", f.col("_metadata.file_path"))
    )
    _run(arriving, bronze, folder)
    read = spark.readStream.name("bronze").format("delta").load(bronze)
    counted = read.observe("expectations", f.count(f.when(f.expr("amount > 0"), 1)).alias("passed"))
    _run(counted.where("amount > 0"), silver, folder)
    windows = (
        spark.readStream.name("silver")
        .format("delta")
        .load(silver)
        .withWatermark("at", "10 minutes")
        .groupBy(f.window("at", "1 hour"), "product")
        .agg(f.sum("amount").alias("revenue"), f.count("*").alias("orders"))
    )
    _run(windows, gold, folder)
    top = spark.read.format("delta").load(silver).groupBy("product").agg(f.sum("amount").alias("revenue"))
    for _ in range(2):
        top.orderBy(f.desc("revenue")).write.format("delta").mode("overwrite").save(str(folder / "top"))
    spark.sql(
        f"MERGE INTO delta.`{silver}` t USING (SELECT 1 AS id, 2.0 AS amount) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.amount = s.amount"
    )
    spark.sql(f"DESCRIBE HISTORY delta.`{silver}`").collect()
    spark.read.format("delta").load(gold).toPandas()
    # Only the class is wanted: a broker is not there.
    jvm(spark).java.lang.Class.forName("org.apache.spark.sql.kafka010.KafkaSourceProvider")


def _write_orders(folder: Path) -> None:
    folder.mkdir()
    for number in range(2):
        lines = [
            json.dumps(
                {"id": row, "amount": row - 3.0, "product": f"p{row % 5}", "at": f"2025-01-0{number + 1}T10:00:00"}
            )
            for row in range(_ROWS)
        ]
        (folder / f"{number}.json").write_text("\n".join([*lines, "{broken"]), encoding="utf-8")


def _run(frame: DataFrame, target: str, folder: Path) -> None:
    checkpoint = str(folder / "checkpoints" / Path(target).name)
    frame.writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(availableNow=True).start(
        target
    ).awaitTermination()


if __name__ == "__main__":
    record(Path(sys.argv[1]))
