# What a DLT user would write: raw messages, cleaned orders, revenue by the hour.
import dlt
from pyspark.sql.functions import col, count, current_timestamp, from_json, sum, window
from pyspark.sql.types import DoubleType, StringType, StructField, StructType, TimestampType

order_schema = StructType(
    [
        StructField("order_id", StringType()),
        StructField("customer_id", StringType()),
        StructField("product", StringType()),
        StructField("amount", DoubleType()),
        StructField("order_time", TimestampType()),
    ]
)


@dlt.table(comment="The shop's messages as they came")
def bronze_orders():
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", spark.conf.get("broker"))
        .option("subscribe", spark.conf.get("topic"))
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("CAST(value AS STRING) AS raw_json", "timestamp AS kafka_timestamp")
    )


@dlt.table(comment="Orders that can be counted")
@dlt.expect_or_drop("valid_amount", "amount > 0")
@dlt.expect_or_drop("valid_customer", "customer_id IS NOT NULL")
def silver_orders():
    return (
        dlt.read_stream("bronze_orders")
        .select(from_json(col("raw_json"), order_schema).alias("data"))
        .select("data.*")
        .withColumn("processed_at", current_timestamp())
    )


@dlt.table(comment="Revenue of each product and hour")
def gold_hourly_summary():
    return (
        dlt.read_stream("silver_orders")
        .withWatermark("order_time", "1 hour")
        .groupBy(window("order_time", "1 hour"), "product")
        .agg(count("order_id").alias("order_count"), sum("amount").alias("total_revenue"))
    )
