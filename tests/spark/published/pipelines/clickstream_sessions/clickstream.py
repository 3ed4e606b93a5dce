# Databricks notebook source
import dlt
from pyspark.sql.functions import col, count, expr, from_json, lit, session_window, to_timestamp
from pyspark.sql.types import StringType, StructField, StructType

event_schema = StructType([
    StructField("event_id", StringType()),
    StructField("user_id", StringType(), True),
    StructField("page", StringType(), True),
    StructField("ts", StringType(), True),
])

# COMMAND ----------

@dlt.table(name="events_bronze", comment="Raw click events, one JSON document per line", temporary=False)
def events_bronze():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "text")
        .option("cloudFiles.schemaLocation", "dbfs:/pipelines/clickstream/schema")
        .load("/Volumes/analytics/web/landing/clicks")
        .select("value", col("_metadata.file_name").alias("file_name"))
    )

# COMMAND ----------

rules = {
    "valid_user": "user_id IS NOT NULL",
    "valid_timestamp": "event_time IS NOT NULL",
}

@dlt.view(name="events_parsed")
def events_parsed():
    parsed = dlt.read_stream("events_bronze").withColumn("e", from_json("value", event_schema))
    return parsed.select("e.*").withColumn("event_time", to_timestamp("ts")).drop("ts")

@dlt.table(name="events_silver")
@dlt.expect_all_or_drop(rules)
def events_silver():
    return (
        dlt.read_stream("events_parsed")
        .withWatermark("event_time", "1 hour")
        .dropDuplicatesWithinWatermark(["event_id"])
    )

# COMMAND ----------

# the same sessions for everybody: 30 minutes without a click end one
@dlt.table(name="sessions_gold", table_properties={"quality": "gold", "delta.enableChangeDataFeed": "true"})
def sessions_gold():
    return (
        dlt.readStream("LIVE.events_silver")
        .withWatermark("event_time", "1 hour")
        .groupBy("user_id", session_window("event_time", "30 minutes"))
        .agg(count(lit(1)).alias("clicks"), expr("max_by(page, event_time)").alias("exit_page"))
        .selectExpr("user_id", "session_window.start AS started", "session_window.end AS ended", "clicks", "exit_page")
    )

@dlt.table(name="page_counts")
def page_counts():
    return spark.sql("""
        SELECT page, count(*) AS views, count(DISTINCT user_id) AS visitors
        FROM LIVE.events_silver
        GROUP BY page
        ORDER BY views DESC
    """)
