# Databricks notebook source
import dlt
from pyspark.sql import functions as F
from pyspark.sql.functions import col

raw_data_location = "/Volumes/main/fsi/landing"

# COMMAND ----------

# DBTITLE 1,Bronze
@dlt.table(comment="Transactions of the payment system")
def bronze_transactions():
  return (spark.readStream.format("cloudFiles")
            .option("cloudFiles.format", "json")
            .option("cloudFiles.maxFilesPerTrigger", "1")
            .option("cloudFiles.schemaHints", "ts timestamp, amount double")
            .load(f"{raw_data_location}/transactions"))

@dlt.table(comment="Customers")
def banking_customers():
  return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "csv").option("header", "true")
            .option("multiLine", "true").load(raw_data_location + "/customers"))

@dlt.table
def country_coordinates():
  return spark.read.option("header", True).csv(raw_data_location + "/country_code.csv")

@dlt.table
def fraud_reports():
  return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "csv").option("header", "true")
            .option("cloudFiles.schemaHints", "is_fraud boolean, reported_at timestamp").load(raw_data_location + "/fraud_report"))

# COMMAND ----------

# DBTITLE 1,Silver: what belongs together
@dlt.table(comment="Customers without the columns nobody may see")
@dlt.expect_or_drop("correct_schema", "_rescued_data IS NULL")
@dlt.expect_or_drop("customer_id", "id IS NOT NULL")
def silver_customers():
  df = dlt.read_stream("banking_customers")
  hidden = [c for c in df.columns if c.startswith("secret_")]
  return df.drop(*hidden)

@dlt.table(comment="Transactions joined to the reports on them")
@dlt.expect_all_or_drop({"correct data": "id IS NOT NULL", "correct customer_id": "customer_id IS NOT NULL"})
def silver_transactions():
  transactions = dlt.read_stream("bronze_transactions").withWatermark("ts", "1 hour")
  reports = dlt.read_stream("fraud_reports").withWatermark("reported_at", "1 hour").drop("_rescued_data")
  joined = transactions.join(
    reports.withColumnRenamed("id", "report_of"),
    F.expr("id = report_of AND reported_at >= ts AND reported_at <= ts + INTERVAL 10 MINUTES"))
  return joined.select(*[c for c in transactions.columns if c != "_rescued_data"], "is_fraud").withColumn(
    "country_orig", F.regexp_replace("country_orig", "--", ""))

# COMMAND ----------

# DBTITLE 1,Gold
def prefixed(table, prefix):
  df = dlt.read(table)
  return df.select([col(c).alias(prefix + c) for c in df.columns if c != "_rescued_data"])

@dlt.table(comment="Everything about a transaction in one row")
@dlt.expect("amount_decent", "amount > 10")
def gold_transactions():
  t = dlt.read("silver_transactions").alias("t")
  return (t.join(prefixed("silver_customers", "customer_"), "customer_id")
           .join(prefixed("country_coordinates", "orig_"), col("t.country_orig") == col("orig_code"), "left")
           .withColumn("is_fraud", F.coalesce("is_fraud", F.lit(False))))
