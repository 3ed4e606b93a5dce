# Databricks notebook source
import dlt
from pyspark.sql import functions as F

# COMMAND ----------

dlt.create_sink(name="delta_sink", format="delta", options={"path": "/mnt/shared/big_orders"})
dlt.create_sink("partner_sink", "json", {"path": "/mnt/shared/partner"})

@dlt.table
@dlt.expect_or_drop("has id", "id IS NOT NULL")
def orders():
  return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
            .option("cloudFiles.schemaHints", "id INT, amount DOUBLE, partner STRING").load("/Volumes/shop/landing/orders"))

# COMMAND ----------

@dlt.append_flow(name="big_orders_flow", target="delta_sink")
def big_orders_flow():
  return dlt.read_stream("orders").where("amount >= 50").select("id", "amount")

@dlt.append_flow(name="partner_flow", target="partner_sink")
def partner_flow():
  return spark.readStream.table("orders").where("partner IS NOT NULL").selectExpr("partner", "id AS order_id")

# COMMAND ----------

@dlt.foreach_batch_sink(name="totals_sink")
def totals_sink(df, batch_id):
  # every batch on its own, and the newest total of each partner
  df.persist()
  path = spark.conf.get("sinks.shared") + "/batches"
  (df.groupBy("partner").agg(F.sum("amount").alias("amount")).withColumn("batch", F.lit(batch_id))
     .write.format("delta").mode("append").option("txnAppId", "totals").option("txnVersion", batch_id).save(path))
  df.unpersist()
  return

@dlt.append_flow(target="totals_sink", name="totals_flow")
def totals_flow():
  return dlt.read_stream("orders")
