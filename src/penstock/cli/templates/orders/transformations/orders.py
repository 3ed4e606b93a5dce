"""The orders pipeline, a teaching example: each function says what a table holds, Penstock keeps it so.

data/orders/*.json -> bronze_orders -> silver_orders -> hourly_revenue
                                                    `-> top_products
"""

import penstock as ps
from pyspark.sql import functions as f


# Bronze: every line of every new file, as it came. A line that is no JSON is kept in _rescued_data.
@ps.table(comment="Orders as they arrived")
def bronze_orders():
    return (
        spark.readStream.format("cloudFiles")  # Auto Loader: each file is read once, also after a crash
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "quantity INT, amount DOUBLE, order_time TIMESTAMP, sent_at TIMESTAMP")
        .load(spark.conf.get("source"))  # `configuration: source` in penstock.yml
    )


# Silver: the rows that we trust. Failing rows are counted; `expect` keeps them, `expect_or_drop` does not.
@ps.table(comment="Orders with an id, a customer and a positive amount")
@ps.expect("sent_within_an_hour", "order_time >= sent_at - INTERVAL 1 HOUR")
@ps.expect_or_drop("readable", "order_id IS NOT NULL")
@ps.expect_or_drop("positive_amount", "amount > 0")
@ps.expect_or_drop("known_customer", "customer_id IS NOT NULL")
def silver_orders():
    return ps.read_stream("bronze_orders").select(
        "order_id", "customer_id", "product", "quantity", "amount", "order_time", "sent_at"
    )


# Gold: revenue by hour. The watermark says when an hour is over: 10 minutes after its end, in event time.
# An hour's row is written then, once; orders that come later than that are not counted in it.
@ps.table(comment="Revenue of each closed hour")
def hourly_revenue():
    return (
        ps.read_stream("silver_orders")
        .withWatermark("order_time", "10 minutes")
        .groupBy(f.window("order_time", "1 hour").alias("hour"))
        .agg(f.count("*").alias("orders"), f.round(f.sum("amount"), 2).alias("revenue"))
        .select(f.col("hour.start").alias("hour"), "orders", "revenue")
    )


# A materialized view is computed from all rows at each run, and replaced in one step.
@ps.materialized_view(comment="Products by revenue, over all orders")
def top_products():
    return (
        ps.read("silver_orders")
        .groupBy("product")
        .agg(f.count("*").alias("orders"), f.round(f.sum("amount"), 2).alias("revenue"))
        .orderBy(f.desc("revenue"))
    )
