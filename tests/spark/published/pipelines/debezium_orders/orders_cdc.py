from pyspark import pipelines as dp
from pyspark.sql.functions import coalesce, col, expr, from_json, struct

ROW = "STRUCT<order_id: BIGINT, customer: STRING, status: STRING, total: DECIMAL(10,2)>"
ENVELOPE = f"STRUCT<before: {ROW}, after: {ROW}, op: STRING, ts_ms: BIGINT, source: STRUCT<lsn: BIGINT, `table`: STRING>>"


@dp.table(comment="The topic of the connector, as files")
def orders_topic():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "text")
        .load("s3://company-landing/debezium/orders")
    )


@dp.temporary_view()
@dp.expect_or_drop("is an event", "op IN ('c', 'u', 'd', 'r', 't')")
def orders_changes():
    # a tombstone follows each delete, its payload is null
    envelope = spark.readStream.table("orders_topic").select(from_json("value", f"payload {ENVELOPE}").alias("m")).select("m.payload.*")
    return envelope.select(
        coalesce("after", "before").alias("row"), "op", "ts_ms", col("source.lsn").alias("lsn")
    ).select("row.*", "op", "ts_ms", "lsn")


@dp.temporary_view
def orders_row_changes():
    return spark.readStream.table("orders_changes").where("op <> 't'")


dp.create_streaming_table("orders", comment="What the source database holds")
dp.create_auto_cdc_flow(
    target="orders",
    source="orders_changes",
    keys=["order_id"],
    sequence_by=struct("ts_ms", "lsn"),
    apply_as_deletes="op = 'd'",
    apply_as_truncates=expr("op = 't'"),
    column_list=["order_id", "customer", "status", "total"],
    stored_as_scd_type=1,
)

dp.create_streaming_table("orders_history")
dp.create_auto_cdc_flow(
    name="history_of_orders",
    target="orders_history",
    source="orders_row_changes",
    keys=[col("order_id")],
    sequence_by=col("lsn"),
    apply_as_deletes=col("op") == "d",
    except_column_list=["op", "ts_ms", "lsn"],
    track_history_column_list=["status"],
    stored_as_scd_type=2,
)
