import penstock as ps
from pyspark.sql import functions as f


@ps.table(comment="One row per receipt.")
@ps.expect_or_quarantine("sold_something", "amount > 0")
def receipts():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "csv")
        .option("header", "true")
        .option("cloudFiles.schemaHints", "receipt LONG, shop STRING, sold_at TIMESTAMP, amount DOUBLE")
        .load("data/receipts")
    )


# Computed by a run in which receipts have come, else left as it is: late receipts count, whatever their day.
@ps.materialized_view(comment="Revenue of each shop and day.")
def revenue_per_day():
    day = f.to_date("sold_at").alias("day")
    return (
        ps.read("receipts").groupBy("shop", day).agg(f.count("*").alias("receipts"), f.sum("amount").alias("revenue"))
    )
