import dlt
from pyspark.sql.functions import col

RULES = {
    "positive amount": "amount > 0",
    "known currency": "currency IN ('EUR', 'USD')",
}


@dlt.table
@dlt.expect_all_or_quarantine(RULES)
@dlt.expect_or_quarantine("has id", col("id").isNotNull())
@dlt.expect_or_drop("no test rows", "customer <> 'test'")
@dlt.expect("small", "amount < 50")
def payments():
    return (
        spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "id INT, amount DOUBLE").load("/Volumes/q/landing/payments")
        .drop("_rescued_data")
    )
