# Databricks notebook source
# MAGIC %md
# MAGIC # First names by year
# MAGIC Download, clean, find the popular ones.

# COMMAND ----------

# MAGIC %pip install faker

# COMMAND ----------

# imports

import dlt
from pyspark.sql.functions import *

# where the file is
catalog = "main"
schema = "default"
volume = "my-volume"
path = f"/Volumes/{catalog}/{schema}/{volume}/"

# COMMAND ----------

@dlt.table(
  comment="First names, from one CSV file"
)
def names_raw():
  df = (spark.read.option("header", True).option("inferSchema", True).csv(path + "names.csv"))
  return df.withColumnRenamed("First Name", "Name")

# COMMAND ----------

@dlt.table(comment="Names with better column names")
@dlt.expect("name is known", "Name IS NOT NULL")
@dlt.expect_or_fail("somebody has it", "Count > 0")
def names_clean():
  return (
    spark.read.table("names_raw")
      .withColumnRenamed("Year", "Born")
      .select("Born", "Name", "Count")
  )

# COMMAND ----------

@dlt.table(comment="The five of 2021")
def popular_2021():
  return (
    spark.read.table("names_clean")
      .filter(expr("Born == 2021"))
      .groupBy("Name")
      .agg(sum("Count").alias("Children"))
      .sort(desc("Children"))
      .limit(5)
  )

# COMMAND ----------

display(dlt.read)

# COMMAND ----------

# MAGIC %sql
# MAGIC -- SELECT * FROM main.default.popular_2021
