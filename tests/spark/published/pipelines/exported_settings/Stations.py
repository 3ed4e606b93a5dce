# Databricks notebook source
import dlt
import pyspark.sql.functions as F

limit = int(spark.conf.get("stations.limit"))

def ranked(name, column, ascending):
  @dlt.table(name=name, comment=f"stations by {column}")
  def _():
    df = dlt.read("stations")
    return df.orderBy(F.col(column).asc() if ascending else F.col(column).desc(), "id").limit(limit)

@dlt.view
@dlt.expect_all_or_drop({"on earth": "abs(latitude) <= 90", "measured": "rain IS NOT NULL"})
def stations():
  rows = [(n, float(n * 17 % 120), None if n % 5 == 3 else float(n * 31 % 77)) for n in range(30)]
  return spark.createDataFrame(rows, "id INT, latitude DOUBLE, rain DOUBLE")

ranked("driest", "rain", True)
ranked("northernmost", "latitude", False)
