"""The snippets of the guide "Spark Structured Streaming Deep Dive", as scripts; see test_guides.py.

Paths are in an S3 on loopback, as `s3://` where the guide has them so.
"""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame
from tests.integration.kafka_broker import KafkaBroker
from tests.spark.script.guide_data import EVENTS
from tests.spark.script.script_project import ScriptProject

DEEP_DIVE = """\
from pyspark.sql.functions import *
events_df = (spark.readStream.format("json").load("DIR/in",
    schema="event_id STRING, user_id STRING, event_type STRING, timestamp TIMESTAMP"))
"""


class TestDeepDive:
    def test_kafka_windows_and_console(self, app: ScriptProject, kafka: KafkaBroker) -> None:
        run = app.run(
            """\
            from pyspark.sql import SparkSession
            from pyspark.sql.functions import col, window, explode
            from pyspark.sql.types import StructType, StructField, StringType, TimestampType
            spark = SparkSession.builder \\
            .appName("StructuredStreamingExample") \\
            .config("spark.sql.streaming.schemaInference", "true") \\
            .getOrCreate()
            schema = StructType([
            StructField("event_id", StringType(), True),
            StructField("user_id", StringType(), True),
            StructField("event_type", StringType(), True),
            StructField("timestamp", TimestampType(), True)
            ])
            kafka_df = spark.readStream \\
            .format("kafka") \\
            .option("kafka.bootstrap.servers", "BROKER") \\
            .option("subscribe", "events") \\
            .option("startingOffsets", "earliest") \\
            .load()
            from pyspark.sql.functions import from_json, to_json
            events_df = kafka_df \\
            .selectExpr("CAST(value AS STRING)") \\
            .select(from_json("value", schema).alias("data")) \\
            .select("data.*")
            tumbling_df = events_df \\
            .withWatermark("timestamp", "10 minutes") \\
            .groupBy(
            window(col("timestamp"), "1 minute"),
            col("event_type")
            ) \\
            .count() \\
            .select(
            col("window.start").alias("window_start"),
            col("window.end").alias("window_end"),
            col("event_type"),
            col("count").alias("event_count")
            )
            query = tumbling_df \\
            .writeStream \\
            .outputMode("update") \\
            .format("console") \\
            .option("truncate", "false") \\
            .trigger(processingTime='1 second') \\
            .start()
            query.processAllAvailable()
            query.stop()
            """.replace("BROKER", kafka.address)
        )
        assert run.fine().told == []
        assert run.input_rows("console") == 4

    @pytest.mark.slow  # session windows in update mode: test_rules.py has them into a table
    def test_sliding_and_session_windows_watermark_and_late_data(self, app: ScriptProject) -> None:
        app.arrive("1", EVENTS)
        run = app.run(
            DEEP_DIVE
            + """\
sliding_df = events_df \\
.withWatermark("timestamp", "10 minutes") \\
.groupBy(
window(col("timestamp"), "1 minute", "30 seconds"),
col("user_id")
) \\
.count()
query = sliding_df \\
.writeStream \\
.outputMode("update") \\
.format("console") \\
.start()
query.processAllAvailable(); query.stop()
from pyspark.sql.functions import session_window
session_df = events_df \\
.withWatermark("timestamp", "10 minutes") \\
.groupBy(
session_window(col("timestamp"), "5 minute"),
col("user_id")
) \\
.count()
query = session_df \\
.writeStream \\
.outputMode("update") \\
.format("console") \\
.start()
query.processAllAvailable(); query.stop()
from pyspark.sql.functions import col, count
aggregated_df = events_df \\
.withWatermark("timestamp", "20 minutes") \\
.groupBy(
window(col("timestamp"), "5 minutes"),
col("user_id")
) \\
.agg(count("*").alias("event_count"))
query = aggregated_df.writeStream.outputMode("update").format("console").start()
query.processAllAvailable(); query.stop()
"""
        )
        assert run.fine().told == ["SESSION_WINDOW_APPENDED"]
        assert {run.input_rows(name) for name in ("console", "console_2", "console_3")} == {4}

    @pytest.mark.slow  # settings that come too late, and one of the state store: test_rules.py
    def test_state_shuffle_and_resource_settings(self, app: ScriptProject) -> None:
        app.arrive("1", EVENTS)
        run = app.run(
            DEEP_DIVE
            + """\
before = {key: spark.conf.get(key) for key in ("spark.sql.streaming.stateStore.providerClass",
    "spark.sql.shuffle.partitions")}
spark.conf.set("spark.sql.streaming.stateStore.providerClass",
"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "10")
spark.conf.set("spark.sql.streaming.stateStore.compress", "true")
aggregated_df = events_df \\
.withWatermark("timestamp", "10 minutes") \\
.groupBy(
window(col("timestamp"), "5 minutes"),
col("user_id")
) \\
.count()
spark.conf.set("spark.sql.shuffle.partitions", "3")
spark.conf.set("spark.sql.adaptive.enabled", "true")
spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
query = aggregated_df.writeStream.outputMode("update").format("noop").start()
query.processAllAvailable(); query.stop()
spark.conf.set("spark.sql.streaming.stateStore.compression.codec", "zstd")
spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "10")
spark.conf.set("spark.sql.streaming.stateStore.rocksdb.compactOnCommit", "true")
spark.conf.set("spark.sql.streaming.stateStore.providerClass",
"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
query = aggregated_df.writeStream.outputMode("update").format("noop").start()
query.processAllAvailable(); query.stop()
spark.conf.set("spark.dynamicAllocation.enabled", "true")
spark.conf.set("spark.dynamicAllocation.minExecutors", "4")
spark.conf.set("spark.dynamicAllocation.maxExecutors", "20")
spark.conf.set("spark.dynamicAllocation.initialExecutors", "4")
spark.conf.set("spark.executor.instances", "10")
spark.conf.set("spark.task.maxFailures", "4")
spark.conf.set("spark.executor.memory", "8g")
spark.conf.set("spark.executor.memoryOverhead", "2g")
spark.conf.set("spark.driver.memory", "4g")
for key in ("minDeltasForSnapshot", "compress", "compression.codec", "rocksdb.compactOnCommit"):
    spark.conf.unset(f"spark.sql.streaming.stateStore.{key}")
for key in ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled"):
    spark.conf.unset(key)
for key, value in before.items():
    spark.conf.set(key, value)
"""
        )
        assert set(run.fine().told) == {"SETTING_WITHOUT_EFFECT"}
        assert {run.input_rows("noop"), run.input_rows("noop_2")} == {4}

    @pytest.mark.slow  # the sinks are those of the tests beside it, joins of two streams are in test_rules.py
    def test_joins(self, app: ScriptProject, kafka: KafkaBroker, bucket: str) -> None:
        app.arrive("1", [{**event, "customer_id": event["user_id"]} for event in EVENTS])
        customers = app.spark.createDataFrame(
            [("u1", "Ada", "gold")], "customer_id STRING, customer_name STRING, segment STRING"
        )
        customers.write.parquet(f"s3://{bucket}/dims/customers/")
        run = app.run(
            DEEP_DIVE.replace("user_id STRING", "customer_id STRING, user_id STRING")
            + """\
customers_df = spark.read.parquet("s3://bucket/dims/customers/")
enriched_df = events_df \\
.join(
customers_df,
on="customer_id",
how="left"
) \\
.select(
col("event_id"),
col("customer_id"),
col("customer_name"),
col("segment"),
col("event_type"),
col("timestamp")
)
query = enriched_df \\
.writeStream \\
.outputMode("append") \\
.format("parquet") \\
.option("path", "s3://bucket/output/enriched-events/") \\
.option("checkpointLocation", "s3://bucket/checkpoints/enrichment/") \\
.trigger(processingTime='1 second') \\
.start()
query.processAllAvailable(); query.stop()
assert spark.read.parquet("s3://bucket/output/enriched-events/").where("customer_name = 'Ada'").count() == 2
query = enriched_df \\
.selectExpr(
"to_json(struct(*)) AS value"
) \\
.writeStream \\
.outputMode("append") \\
.format("kafka") \\
.option("kafka.bootstrap.servers", "BROKER") \\
.option("topic", "enriched-events") \\
.option("checkpointLocation", "s3://bucket/checkpoints/kafka-sink/") \\
.trigger(processingTime='1 second') \\
.start()
query.processAllAvailable(); query.stop()
from delta.tables import DeltaTable
query = enriched_df \\
.writeStream \\
.outputMode("append") \\
.format("delta") \\
.option("path", "s3://bucket/delta/events/") \\
.option("checkpointLocation", "s3://bucket/checkpoints/delta/") \\
.trigger(processingTime='1 second') \\
.start()
query.processAllAvailable(); query.stop()
assert DeltaTable.forPath(spark, "s3://bucket/delta/events/").toDF().count() == 4

def stream(topic):
    return (spark.readStream \\
    .format("kafka") \\
    .option("kafka.bootstrap.servers", "BROKER") \\
    .option("subscribe", topic).option("startingOffsets", "earliest") \\
    .load().select(from_json(col("value").cast("string"), "user_id STRING, timestamp TIMESTAMP").alias("data"))
    .select("data.*"))
events_stream, enrichment_stream = stream("events"), stream("enrichment")
joined_stream = events_stream \\
.withWatermark("timestamp", "10 minutes").alias("events") \\
.join(
enrichment_stream \\
.withWatermark("timestamp", "10 minutes").alias("enrichment"),
expr("events.user_id = enrichment.user_id AND events.timestamp BETWEEN enrichment.timestamp - INTERVAL 5 MINUTES "
"AND enrichment.timestamp + INTERVAL 5 MINUTES"),
"inner"
)
query = joined_stream \\
.writeStream \\
.outputMode("append") \\
.format("console") \\
.start()
query.processAllAvailable(); query.stop()
""".replace("BROKER", kafka.address).replace("s3://bucket", f"s3://{bucket}")
        )
        assert run.fine().told == []
        assert len(kafka.consume("enriched-events")) == 4
        assert run.input_rows("console") == 6

    def test_sinks_triggers_and_monitoring(self, app: ScriptProject, bucket: str) -> None:
        app.arrive("1", EVENTS)
        run = app.run(
            DEEP_DIVE
            + """\
query = events_df \\
.writeStream \\
.outputMode("append") \\
.format("console") \\
.option("truncate", "false") \\
.trigger(processingTime='1 second') \\
.start()
query.processAllAvailable(); query.stop()
query = events_df \\
.writeStream \\
.outputMode("append") \\
.format("memory") \\
.queryName("events_table") \\
.start()
query.processAllAvailable()
spark.sql("SELECT * FROM events_table").show()
assert spark.streams.active
query_again = spark.streams.get(query.id)
query.status
query.lastProgress
query.recentProgress
for q in spark.streams.active:
    print(f"{q.name}: {q.status}")
query.stop()
aggregated_df = (events_df.withWatermark("timestamp", "20 minutes")
    .groupBy(window(col("timestamp"), "5 minutes"), col("user_id")).agg(count("*").alias("event_count"))
    .withColumn("window_start", col("window.start")))
query = aggregated_df.withColumn("date", col("window_start").cast("date")).withColumn("hour", hour("window_start")) \\
.writeStream \\
.outputMode("append") \\
.format("parquet") \\
.option("path", "s3://bucket/output/events/") \\
.option("checkpointLocation", "s3://bucket/checkpoints/events/") \\
.partitionBy("date", "hour") \\
.trigger(processingTime='1 second') \\
.start()
query.processAllAvailable(); query.stop()
assert spark.read.parquet("s3://bucket/output/events/").count() == 2
df = events_df
query = df.writeStream.format("noop") \\
.trigger(processingTime='1 minute') \\
.start()
query.stop()
query = df.writeStream.format("noop") \\
.trigger(once=True) \\
.start()
query.awaitTermination()
query = spark.readStream.format("rate").load().writeStream.format("console") \\
.trigger(continuous='1 second') \\
.start()
query.stop()
""".replace("s3://bucket", f"s3://{bucket}")
        )
        assert run.fine().told == ["TRIGGER_ONCE_REPLACED"]
        assert run.input_rows("events_table") == 4

    @pytest.mark.slow  # a chosen checkpoint is in test_rules.py, OPTIMIZE in test_run.py, the bucket in the test above
    def test_checkpoints_partitions_and_z_order(self, app: ScriptProject, bucket: str) -> None:
        app.arrive("1", EVENTS)
        run = app.run(
            DEEP_DIVE
            + """\
checkpoint_path = "s3://bucket/checkpoints/my-stream/"
query = events_df \\
.writeStream \\
.format("delta") \\
.option("path", "s3://bucket/output/") \\
.option("checkpointLocation", checkpoint_path) \\
.start()
query.processAllAvailable(); query.stop()
aggregated_df = (events_df.withWatermark("timestamp", "20 minutes")
    .groupBy(window(col("timestamp"), "5 minutes"), col("user_id")).count()
    .withColumn("window_start", col("window.start")))
query = aggregated_df \\
.withColumn("date", col("window_start").cast("date")) \\
.withColumn("hour", hour(col("window_start"))) \\
.writeStream \\
.format("delta") \\
.partitionBy("date", "hour") \\
.option("path", "s3://bucket/hours/") \\
.start()
query.processAllAvailable(); query.stop()
from delta.tables import DeltaTable
delta_table = DeltaTable.forPath(spark, "s3://bucket/output/")
delta_table.optimize() \\
.executeZOrderBy("user_id", "event_type")
df = events_df
df = df.withWatermark("timestamp", "10 minutes")
query = df.writeStream.format("delta").option("checkpointLocation", "s3://bucket/checkpoints/").start("s3://bucket/best")
query.processAllAvailable()
query.lastProgress
query.stop()
""".replace("s3://bucket", f"s3://{bucket}")
        )
        assert run.fine().told == ["QUERY_CHECKPOINT_CHOSEN"]

        def stored(folder: str) -> DataFrame:
            return app.spark.read.format("delta").load(f"s3://{bucket}/{folder}")

        hours = stored("hours").select("user_id", "count", "hour").collect()
        assert sorted(map(tuple, hours)) == [("u1", 2, 10), ("u2", 1, 10)]
        assert (stored("output").count(), stored("best").count()) == (4, 4)
