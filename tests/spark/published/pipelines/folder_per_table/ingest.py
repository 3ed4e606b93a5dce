# Databricks notebook source
import dlt
from pyspark.sql.functions import col

root = "/Volumes/main/lake/drop"

# COMMAND ----------

# one table for every folder that somebody made
folders = [f.name.strip("/") for f in dbutils.fs.ls(root) if f.isDir() and not f.name.startswith("_")]

def ingest(folder):
    @dlt.table(name=f"{folder}_bronze", comment=f"files of {root}/{folder}")
    def bronze():
        return (
            spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").option("cloudFiles.inferColumnTypes", "true")
            .load(f"dbfs:{root}/{folder}")
            .select("*", col("_metadata.file_name").alias("file"))
        )

for folder in folders:
    ingest(folder)
