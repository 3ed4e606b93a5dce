"""The benchmark's pipeline for `spark-pipelines`; gold is a materialized view, its documented form for aggregates."""

from pyspark import pipelines as dp
from pyspark.sql import functions as f

SCHEMA = "order_id LONG, customer_id LONG, product STRING, amount DOUBLE, order_time TIMESTAMP"


@dp.table(format="delta")
def bronze():
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).json(spark.conf.get("source"))


@dp.table(format="delta")
def silver():
    return spark.readStream.table("bronze").where("amount > 0 AND customer_id IS NOT NULL")


@dp.materialized_view(format="delta")
def gold():
    return (
        spark.read.table("silver")
        .groupBy(f.window("order_time", "1 hour"), "product")
        .agg(f.count("*").alias("orders"), f.sum("amount").alias("revenue"))
        .select(f.col("window.start").alias("window_start"), "product", "orders", "revenue")
    )
