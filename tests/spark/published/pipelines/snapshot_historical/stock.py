import os
from typing import Optional, Tuple

import dlt
from pyspark.sql import DataFrame

path = spark.conf.get("snapshots.path")


def exists(p):
  try:
    spark.read.text(p)
    return True
  except Exception:
    return False


def next_snapshot_and_version(latest_snapshot_version: Optional[int]) -> Optional[Tuple[DataFrame, int]]:
  version = 1 if latest_snapshot_version is None else latest_snapshot_version + 1
  file = f"{path}/stock_{version}.csv"
  if not exists(file):
    return None
  return (spark.read.option("header", "true").schema("sku STRING, shelf STRING, pieces INT").csv(file), version)


dlt.create_streaming_live_table(name="stock_history")

dlt.apply_changes_from_snapshot(
  target="stock_history",
  snapshot_and_version=next_snapshot_and_version,
  keys=["sku", "shelf"],
  stored_as_scd_type=2,
)

dlt.create_streaming_table("stock")
dlt.create_auto_cdc_from_snapshot_flow(
  target="stock",
  source=next_snapshot_and_version,
  keys=["sku", "shelf"],
  stored_as_scd_type=1,
)
