# Databricks notebook source
# MAGIC %md-sandbox
# MAGIC # Change data capture of customers
# MAGIC Out-of-order events, deletes, the current state and the history.

# COMMAND ----------

import dlt
from pyspark.sql.functions import *

## the events as they are
@dlt.create_table(name="customers_cdc",
                  comment = "Events of the CRM")
def customers_cdc():
  return (
    spark.readStream.format("cloudFiles")
      .option("cloudFiles.format", "json")
      .option("cloudFiles.inferColumnTypes", "true")
      .option("cloudFiles.schemaHints", "operation_date timestamp")
      .load("/Volumes/main/dbdemos/cdc_raw/customers"))

# COMMAND ----------

# DBTITLE 1,Silver layer: cleansed data
# a view would do, too
@dlt.create_table(name="customers_cdc_clean",
                  comment="Events that can be applied")
@dlt.expect_or_drop("no_rescued_data", "_rescued_data IS NULL")
@dlt.expect_or_drop("valid_id", "id IS NOT NULL")
@dlt.expect_or_drop("valid_operation", "operation IN ('APPEND', 'DELETE', 'UPDATE')")
def customers_cdc_clean():
  return dlt.read_stream("customers_cdc") \
            .select("address", "email", "id", "firstname", "operation", "operation_date", "_rescued_data")

# COMMAND ----------

# DBTITLE 1,Materialize the current state
dlt.create_target_table(name="customers", comment="Customers as of now")

dlt.apply_changes(
  target = "customers",
  source = "customers_cdc_clean", # a name, never a DataFrame
  keys = ["id"],
  sequence_by = col("operation_date"), # the newest event wins
  ignore_null_updates = False,
  apply_as_deletes = expr("operation = 'DELETE'"),
  except_column_list = ["operation", "operation_date", "_rescued_data"]) # not stored

# COMMAND ----------

# DBTITLE 1,And the history
dlt.create_streaming_table("Customers_History", comment="Customers and what they were")

# every version
dlt.apply_changes(
  target = "Customers_History",
  source = "customers_cdc_clean",
  keys = ["id"],
  sequence_by = col("operation_date"),
  ignore_null_updates = False,
  apply_as_deletes = expr("operation = 'DELETE'"),
  except_column_list = ["operation", "operation_date", "_rescued_data"],
  stored_as_scd_type = "2")

# COMMAND ----------

@dlt.table(comment="customers by domain of their mail")
def customers_by_domain():
  return (dlt.read("customers").groupBy(split("email", "@")[1].alias("domain")).agg(count("*").alias("customers")))
