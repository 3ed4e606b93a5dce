import penstock as ps


@ps.table(name="bronze.sales.orders", comment="Orders as they arrived.")
@ps.expect_or_quarantine("has_a_shop", "shop IS NOT NULL")
def arrived():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "id LONG, shop STRING, ordered_at TIMESTAMP, amount DOUBLE")
        .load("data/orders")
    )


@ps.table(name="silver.sales.orders", comment="Orders without cancellations.")
@ps.expect_or_quarantine("is_an_order", "amount > 0")
def good():
    return ps.read_stream("bronze.sales.orders").select("id", "shop", "ordered_at", "amount")
