import penstock as ps
from pyspark.sql import functions as f


@ps.table(comment="One row per click.")
@ps.expect_or_drop("has_a_time", "clicked_at IS NOT NULL")
def clicks():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "customer STRING, product STRING, clicked_at TIMESTAMP")
        .option("cloudFiles.maxFilesPerTrigger", 50)
        .load("data/clicks")
    )


# Append mode: a window is written once, when the watermark has passed its end, and then leaves the state.
@ps.table(comment="Clicks on each product in an hour, every ten minutes.")
def clicks_of_the_last_hour():
    hour = f.window("clicked_at", "1 hour", "10 minutes")
    return (
        ps.read_stream("clicks")
        .withWatermark("clicked_at", "20 minutes")
        .groupBy(hour, "product")
        .agg(f.count("*").alias("clicks"))
    )


@ps.table(comment="A customer's clicks with no half hour between two of them.")
def visits():
    visit = f.session_window("clicked_at", "30 minutes")
    return (
        ps.read_stream("clicks")
        .withWatermark("clicked_at", "20 minutes")
        .groupBy(visit, "customer")
        .agg(f.count("*").alias("clicks"), f.approx_count_distinct("product").alias("products"))
    )
