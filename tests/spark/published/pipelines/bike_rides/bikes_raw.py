# Databricks notebook source
import dlt
from pyspark.sql import functions as F

# COMMAND ----------

@dlt.table(name="RIDES_RAW", comment="Every ride as the docks report it", table_properties={"quality": "bronze"})
@dlt.expect_or_drop("No broken files", "_rescued_data IS NULL")
def rides_raw():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "csv")
        .option("cloudFiles.schemaHints", "started_at TIMESTAMP, ended_at TIMESTAMP, bike_id INT")
        .option("cloudFiles.schemaEvolutionMode", "rescue")
        .load("/databricks-datasets/bikes/rides/")
        .select("*", F.col("_metadata.file_name").alias("source_file"))
    )

# COMMAND ----------

@dlt.table(name="weather_raw", temporary=True)
def weather_raw():
    return spark.read.option("header", "true").option("inferSchema", "true").csv("/databricks-datasets/bikes/weather.csv")
