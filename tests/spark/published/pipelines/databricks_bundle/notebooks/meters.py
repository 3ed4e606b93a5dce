# Databricks notebook source
# MAGIC %run ./common

# COMMAND ----------

import dlt
from pyspark.sql import functions as F

landing = spark.conf.get("energy.landing")
zone = spark.conf.get("energy.zone")

# COMMAND ----------

@dlt.table
def meters():
  return with_kwh(
    spark.readStream.format("cloudFiles").option("cloudFiles.format", "csv").option("cloudFiles.inferColumnTypes", True)
      .load(f"{landing}/meters")
  ).withColumn("zone", F.lit(zone))

