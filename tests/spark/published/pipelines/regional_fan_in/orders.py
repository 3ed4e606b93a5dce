# Databricks notebook source
import dlt
from pyspark.sql.functions import *

regions = ["us_west", "us_east", "eu"]

dlt.create_target_table(
  name="all_orders",
  comment="orders of all regions",
  schema="order_id STRING, region STRING, amount DOUBLE, loaded_from STRING",
  expect_all={"amount is known": "amount IS NOT NULL"},
  expect_all_or_drop={"has an id": "order_id IS NOT NULL"},
  table_properties={"pipelines.reset.allowed": "true"},
)

# COMMAND ----------

for region in regions:
  @dlt.append_flow(target="all_orders", name=f"orders_{region}")
  def one_region(region=region):
    return (
      spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
        .option("cloudFiles.inferColumnTypes", "true")
        .load(f"/Volumes/shop/orders/{region}")
        .select(col("id").alias("order_id"), lit(region).alias("region"), col("amount").cast("double"), lit("stream").alias("loaded_from"))
    )

# COMMAND ----------

# the archive is loaded one time only
@dlt.append_flow(target="all_orders", name="backfill_2024", once=True, comment="last year, from parquet")
def backfill():
  return (
    spark.read.parquet("/Volumes/shop/orders/archive")
      .selectExpr("order_id", "region", "CAST(amount AS DOUBLE) AS amount", "'archive' AS loaded_from")
  )

# COMMAND ----------

@dlt.table
def revenue_by_region():
  return dlt.read("all_orders").groupBy("region").agg(sum("amount").alias("revenue"), count("*").alias("orders"))
