import dlt
from pyspark.sql.functions import *

tables = [t.strip() for t in spark.conf.get("dms.tables").split(",")]

def generate_bronze(table):
  @dlt.table(name=f"{table}_cdc", comment=f"Full load and changes of {table}")
  def cdc():
    return (spark.readStream.format("cloudFiles")
              .option("cloudFiles.format", "csv")
              .option("cloudFiles.inferColumnTypes", "true")
              .option("cloudFiles.schemaHints", "changed_at TIMESTAMP")
              .load(f"/mnt/dms/{table}"))

def generate_silver(table, key):
  @dlt.view(name=f"{table}_changes")
  def changes():
    df = dlt.read_stream(f"{table}_cdc")
    # the full load has no Op column at all
    op = col("Op") if "Op" in df.columns else lit("I")
    data = [c for c in df.columns if c not in ("Op", "_rescued_data")]
    return df.select(*data, coalesce(op, lit("I")).alias("op"))

  dlt.create_streaming_live_table(name=table, comment=f"{table} as in the ERP")
  dlt.apply_changes(
    target=table,
    source=f"{table}_changes",
    keys=[key],
    sequence_by=col("changed_at"),
    apply_as_deletes=expr("op = 'D'"),
    except_column_list=["op", "changed_at"],
    stored_as_scd_type=1
  )

for table in tables:
  generate_bronze(table)
  generate_silver(table, f"{table[:-1]}_id")
