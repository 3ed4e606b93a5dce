import penstock as ps
from pyspark.sql import functions as f


@ps.view
def page_views():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "page STRING, visitor STRING, viewed_at TIMESTAMP, milliseconds LONG")
        .load("data/views")
    )


# In update mode a minute is there with its first view, and grows with each batch.
@ps.table(output_mode="update", comment="Views of each page by minute, the present one included.")
@ps.expect("counted", "views > 0")
def views_per_minute():
    minute = f.window("viewed_at", "1 minute")
    return (
        ps.read_stream("page_views")
        .withWatermark("viewed_at", "2 minutes")
        .groupBy(minute, "page")
        .agg(f.count("*").alias("views"), f.avg("milliseconds").alias("average_milliseconds"))
    )
