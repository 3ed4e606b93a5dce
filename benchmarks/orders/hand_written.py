"""The orders pipeline as an engineer writes it in plain PySpark: three streaming queries, one after the other.

hand_written.py INPUT OUTPUT [JSON object of Spark settings]
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.orders.generator import SCHEMA


def main(source: str, output: str, settings: dict[str, str]) -> None:
    builder = SparkSession.builder.appName("orders")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    run(spark, source, output)
    spark.stop()


def run(spark: SparkSession, source: str, output: str) -> None:
    """Runs the three queries in the session."""

    def write(name: str, frame: DataFrame) -> None:
        query = (
            frame.writeStream.queryName(name)
            .format("delta")
            .outputMode("append")
            .option("checkpointLocation", f"{output}/checkpoints/{name}")
            .trigger(availableNow=True)
            .start(f"{output}/{name}")
        )
        query.awaitTermination()

    orders = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).json(source)
    write("bronze", orders)

    bronze = spark.readStream.format("delta").load(f"{output}/bronze")
    write("silver", bronze.where("amount > 0 AND customer_id IS NOT NULL"))

    silver = spark.readStream.format("delta").load(f"{output}/silver")
    write(
        "gold",
        silver.withWatermark("order_time", "1 hour")
        .groupBy(f.window("order_time", "1 hour"), "product")
        .agg(f.count("*").alias("orders"), f.sum("amount").alias("revenue"))
        .select(f.col("window.start").alias("window_start"), "product", "orders", "revenue"),
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
