# Databricks notebook source
# MAGIC %md rides with a duration and the weather of their day

# COMMAND ----------

import dlt
from pyspark.sql.functions import *

@dlt.table(
    name="rides_clean",
    schema="""
      ride_id STRING NOT NULL COMMENT 'the key',
      bike_id INT,
      user_type STRING,
      ride_date DATE,
      minutes DOUBLE COMMENT 'how long the ride took',
      temperature DOUBLE
    """,
    partition_cols=["ride_date"],
)
@dlt.expect_all_or_drop({
    "ride has an end": "minutes IS NOT NULL",
    "no time travel": "minutes >= 0",
})
@dlt.expect("shorter than a day", col("minutes") < 24 * 60)
def rides_clean():
    rides = spark.readStream.table("live.rides_raw")
    weather = spark.read.table("weather_raw")
    return (
        rides.withColumn("ride_date", to_date("started_at"))
        .withColumn("minutes", (unix_timestamp("ended_at") - unix_timestamp("started_at")) / 60)
        .join(weather.withColumnRenamed("date", "ride_date"), on="ride_date", how="left")
        .select("ride_id", "bike_id", "user_type", "ride_date", "minutes", "temperature")
    )

# COMMAND ----------

@dlt.table
def rides_by_day():
    df = spark.read.table("RIDES_CLEAN")
    return df.groupBy("ride_date").pivot("user_type", ["member", "casual"]).agg(count("ride_id")).na.fill(0)

# COMMAND ----------

@dlt.table(comment="bikes to be looked after first")
def bikes_to_check():
    return (
        dlt.read("rides_clean").groupBy("bike_id").agg(round(sum("minutes"), 2).alias("minutes"))
        .orderBy(desc("minutes"), "bike_id").limit(3)
    )
