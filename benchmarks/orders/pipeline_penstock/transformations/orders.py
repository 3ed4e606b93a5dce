"""The benchmark's pipeline for Penstock, with Penstock's own defaults."""

from pyspark.sql import functions as f

import penstock as ps

SCHEMA = "order_id LONG, customer_id LONG, product STRING, amount DOUBLE, order_time TIMESTAMP"


@ps.table
def bronze():
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", spark.conf.get("files_per_batch")).json(spark.conf.get("source"))


@ps.table
@ps.expect_all_or_drop({"positive_amount": "amount > 0", "known_customer": "customer_id IS NOT NULL"})
def silver():
    return ps.read_stream("bronze")


@ps.table
def gold():
    return (
        ps.read_stream("silver")
        .withWatermark("order_time", "1 hour")
        .groupBy(f.window("order_time", "1 hour"), "product")
        .agg(f.count("*").alias("orders"), f.sum("amount").alias("revenue"))
        .select(f.col("window.start").alias("window_start"), "product", "orders", "revenue")
    )
