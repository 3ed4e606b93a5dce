# Databricks notebook source
# MAGIC %md
# MAGIC # Loan transactions
# MAGIC Three sources (new transactions, history, a reference table), cleaned by **expectations**.

# COMMAND ----------

import dlt
from pyspark.sql import functions as F

# COMMAND ----------

# DBTITLE 1,New transactions, as they land
@dlt.create_table(comment="Payments as the bank's system drops them")
def txs_landed():
  return (
    spark.readStream.format("cloudFiles")
      .option("cloudFiles.format", "json")
      .option("cloudFiles.inferColumnTypes", "true")
      .load("/Volumes/main/dbdemos_loans/raw_data/txs_json"))

# COMMAND ----------

# DBTITLE 1,The reference table is a Delta table, small and static
@dlt.create_table(comment="How each kind of loan is accounted for")
def treatments():
  return spark.read.format("delta").load("/Volumes/main/dbdemos_loans/raw_data/treatments")

# COMMAND ----------

# DBTITLE 1,History from the legacy system, in CSV
@dlt.create_table(comment="Before the migration")
def loans_of_old_system():
  return (
    spark.readStream.format("cloudFiles")
      .option("cloudFiles.format", "csv")
      .option("cloudFiles.inferColumnTypes", "true")
      .load("/Volumes/main/dbdemos_loans/raw_data/old_loans_csv"))

# COMMAND ----------

# MAGIC %md-sandbox
# MAGIC ## Silver: join and clean

# COMMAND ----------

@dlt.create_view(comment="Payments with their treatment")
def txs_joined():
  txs = dlt.read_stream("txs_landed").alias("txs")
  ref = dlt.read("treatments").alias("ref")
  return (
    txs.join(ref, F.col("txs.treatment_id") == F.col("ref.id"), "inner")
       .selectExpr("txs.*", "ref.treatment as treatment"))

# COMMAND ----------

@dlt.create_table(comment="Payments that passed the rules")
@dlt.expect("Next payment is due", "(next_payment_date > date('2020-12-31'))")
@dlt.expect_or_drop("Both balances > 0", "(balance > 0 AND arrears_balance > 0)")
@dlt.expect_or_fail("Somebody's cost center", "(cost_center_code IS NOT NULL)")
def txs_clean():
  return dlt.read_stream("txs_joined")

# COMMAND ----------

# DBTITLE 1,The rules turned round: what the table above leaves out
@dlt.create_table(comment="Payments that somebody has to look at")
@dlt.expect("Next payment is due", "(next_payment_date <= date('2020-12-31'))")
@dlt.expect_or_drop("Both balances > 0", "(balance <= 0 OR arrears_balance <= 0)")
def txs_quarantined():
  return dlt.read_stream("txs_joined")

# COMMAND ----------

@dlt.create_table(comment="Old loans that passed the rules")
@dlt.expect("Grade A to G", "(grade in ('A', 'B', 'C', 'D', 'E', 'F', 'G'))")
@dlt.expect_or_drop("Recoveries are whole numbers", "(CAST(recoveries as INT) IS NOT NULL)")
def old_loans():
  history = dlt.read_stream("loans_of_old_system").alias("l")
  ref = dlt.read("treatments").alias("ref")
  return (history.join(ref, F.col("l.treatment_id") == F.col("ref.id"), "inner")
                 .select("l.grade", "l.balance", "l.recoveries", "l.country_code", "ref.treatment"))

# COMMAND ----------

# MAGIC %md ## Gold

# COMMAND ----------

@dlt.create_table(
  comment="Old and new balances, one row each",
  table_properties={"pipelines.autoOptimize.zOrderCols": "location_code"})
def balances_by_country():
  return (
    dlt.read("old_loans").groupBy("country_code").agg(F.sum("balance").alias("bal")).withColumnRenamed("country_code", "location_code")
      .union(dlt.read("txs_clean").groupBy("country_code").agg(F.sum("balance").alias("bal")).withColumnRenamed("country_code", "location_code")))

# COMMAND ----------

@dlt.create_table(comment="For the cost centers' own dashboards")
def balances_by_center():
  return dlt.read("txs_clean").groupBy("cost_center_code").agg(F.sum("balance").alias("sum_balance"))
