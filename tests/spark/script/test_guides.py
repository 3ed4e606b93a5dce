"""Every snippet of the four guides that Penstock follows, as a script: docs/reference/guide-snippets.md maps them.

The code is the guides'; supplied are addresses, paths, variables that a guide leaves undefined, shorter intervals, and
`earliest` where `latest` would read what arrives later. `# more …` after a backslash, which Python does not read, and
arguments of `join` that do not exist are written as Python has them.
"""

from __future__ import annotations

from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.s3_server import S3Server
from tests.spark.script.script_project import ScriptProject


class TestStreamProcessing:
    """Guide 1, "Stream Processing with Structured Streaming"; its `/mnt` is a bucket, "as it arrives in S3"."""

    @pytest.mark.slow  # test_run.py has Auto Loader in a script, the golden query below windows in append mode
    def test_auto_loader_and_windowed_aggregation(self, app: ScriptProject, s3: S3Server, bucket: str) -> None:
        devices = [
            {"device_id": "d1", "event_timestamp": "2026-01-01T10:01:00Z"},
            {"device_id": "d1", "event_timestamp": "2026-01-01T10:02:00Z"},
            {"device_id": "d2", "event_timestamp": "2026-01-01T15:00:00Z"},
        ]
        s3.put(bucket, "raw-data/incoming/1.json", devices)

        def rows(table: str, *columns: str) -> list[tuple[Any, ...]]:
            path = f"s3://{bucket}/delta/{table}"
            if not DeltaTable.isDeltaTable(app.spark, path):
                return []
            return sorted(map(tuple, app.spark.read.format("delta").load(path).select(*columns).collect()))

        run = app.run(
            """\
            df = (spark.readStream
            .format("cloudFiles")
            .option("cloudFiles.format", "json")
            .option("cloudFiles.schemaLocation", "/mnt/checkpoints/schema")
            .load("/mnt/raw-data/incoming/"))
            (df.writeStream
            .format("delta")
            .option("checkpointLocation", "/mnt/checkpoints/bronze_table")
            .trigger(availableNow=True)
            .start("/mnt/delta/bronze_table"))
            from pyspark.sql.functions import window, col
            df = df.withColumn("event_timestamp", col("event_timestamp").cast("timestamp"))
            windowedCounts = (df.withWatermark("event_timestamp", "2 hours")
            .groupBy(
            window(col("event_timestamp"), "10 minutes"),
            col("device_id"))
            .count())
            (windowedCounts.writeStream
            .outputMode("append")
            .format("delta")
            .option("checkpointLocation", "/mnt/checkpoints/windowed_counts")
            .start("/mnt/delta/windowed_counts_table"))
            """.replace("/mnt", f"s3://{bucket}"),
            stop_when=lambda _: (
                len(rows("windowed_counts_table", "count")) == 1 and len(rows("bronze_table", "device_id")) == 3
            ),
        )
        assert run.fine().told == ["QUERIES_NOT_AWAITED"]
        assert rows("bronze_table", "device_id") == [("d1",), ("d1",), ("d2",)]
        assert rows("windowed_counts_table", "device_id", "count") == [("d1", 2)]
        assert any(key.startswith("checkpoints/schema/") for key in s3.keys(bucket))


def test_the_golden_streaming_query(app: ScriptProject, kafka: KafkaBroker) -> None:
    """Guide 3, "Structured Streaming"."""
    run = app.run(
        """\
        from pyspark.sql.functions import *
        schema = "event_id STRING, user_id STRING, event_time TIMESTAMP"
        stream_df = (spark
        .readStream
        .format("kafka")
        .option("kafka.bootstrap.servers", "BROKER")
        .option("subscribe", "events")
        .option("startingOffsets", "earliest") # or "latest"
        .load()
        .select(from_json(col("value").cast("string"), schema).alias("data"))
        .select("data.*")
        .withColumn("processing_time", current_timestamp())
        .withWatermark("event_time", "10 minutes")
        )
        windowed = (stream_df
        .groupBy(
        window(col("event_time"), "10 minutes", "5 minutes"),
        col("user_id")
        )
        .agg(count("*").alias("events"))
        )
        query = (windowed
        .writeStream
        .format("delta")
        .option("checkpointLocation", "DIR/checkpoints/events_agg")
        .partitionBy("window.start")
        .outputMode("append") # or "complete" or "update"
        .trigger(processingTime="1 second")
        .start("DIR/delta/events_agg")
        )
        parsed_df = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", "BROKER")
        .option("subscribe", "events").load()
        .select(from_json(col("value").cast("string"), schema).alias("data")).select("data.*"))
        unique = (parsed_df
        .withWatermark("event_time", "2 hours")
        .dropDuplicates(["event_id", "event_time"]))
        unique.writeStream.format("noop").start()
        query.awaitTermination()
        """.replace("BROKER", kafka.address),
        stop_when=lambda app: app.has_rows("delta/events_agg", 4),
    )
    assert run.fine().told == ["PARTITION_COLUMN_ADDED"]
    assert app.rows("delta/events_agg", "user_id", "events") == [("u1", 2), ("u1", 2), ("u2", 1), ("u2", 1)]


class TestStreamingWithDatabricks:
    """Guide 4, "Streaming with Databricks"."""

    def test_delta_to_delta(self, app: ScriptProject, spark: SparkSession) -> None:
        spark.createDataFrame([(1, 50.0), (2, 150.0)], "id INT, amount DOUBLE").write.format("delta").save(
            f"{app.directory}/data/orders"
        )
        run = app.run(
            """\
            from pyspark.sql.functions import col
            df = spark.read.format("delta").load("DIR/data/orders")
            stream_df = spark.readStream.format("delta").load("DIR/data/orders")
            filtered = stream_df.filter(col("amount") > 100)
            query = (filtered.writeStream
            .format("delta")
            .outputMode("append")
            .option("checkpointLocation", "DIR/checkpoints/orders_filtered")
            .trigger(processingTime="10 seconds")
            .toTable("silver.filtered_orders")
            )
            print(query.status)
            print(query.lastProgress)
            query.awaitTermination()
            """,
            stop_when=lambda app: app.has_rows(app.table("silver", "filtered_orders"), 1),
        )
        assert run.fine().told == []
        spark.sql("DROP SCHEMA silver CASCADE")

    @pytest.mark.slow  # the golden query above reads Kafka; windows in update mode merge in test_rules.py
    def test_kafka_to_bronze_and_updated_windows(self, app: ScriptProject, kafka: KafkaBroker) -> None:
        run = app.run(
            """\
            kafka_df = (spark.readStream
            .format("kafka")
            .option("kafka.bootstrap.servers", "BROKER")
            .option("subscribe", "orders_topic") # topic name
            .option("startingOffsets", "earliest") # or "earliest" for full history
            .load()
            )
            from pyspark.sql.functions import from_json, col
            from pyspark.sql.types import StructType, StructField, StringType, DoubleType, TimestampType
            order_schema = StructType([
            StructField("order_id", StringType()),
            StructField("customer_id", StringType()),
            StructField("product", StringType()),
            StructField("amount", DoubleType()),
            StructField("order_time", TimestampType())
            ])
            parsed_df = (kafka_df
            .selectExpr("CAST(value AS STRING) as json_str")
            .select(from_json(col("json_str"), order_schema).alias("data"))
            .select("data.*")
            )
            query = (parsed_df.writeStream
            .format("delta")
            .outputMode("append")
            .option("checkpointLocation", "DIR/checkpoints/kafka_orders_bronze")
            .trigger(processingTime="30 seconds")
            .toTable("bronze.kafka_orders")
            )
            watermarked_df = parsed_df.withWatermark("order_time", "10 minutes")
            from pyspark.sql.functions import window
            windowed_counts = (parsed_df
            .withWatermark("order_time", "10 minutes")
            .groupBy(
            window("order_time", "5 minutes"), # 5-minute tumbling window
            "product"
            )
            .count()
            )
            query = (windowed_counts.writeStream
            .format("delta")
            .outputMode("update") # Only write changed windows
            .option("checkpointLocation", "DIR/checkpoints/order_counts")
            .trigger(processingTime="1 minute")
            .toTable("gold.order_counts_5min")
            )
            """.replace("BROKER", kafka.address),
            stop_when=lambda app: (
                app.has_rows(app.table("bronze", "kafka_orders"), 3)
                and app.has_rows(app.table("gold", "order_counts_5min"), 2)
            ),
        )
        assert run.fine().told == ["QUERIES_NOT_AWAITED"]
        assert app.rows(app.table("gold", "order_counts_5min"), "product", "count") == [("rice", 1), ("tea", 2)]
        for schema in ("bronze", "gold"):
            app.spark.sql(f"DROP SCHEMA {schema} CASCADE")
