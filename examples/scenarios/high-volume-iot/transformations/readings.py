import penstock as ps
from pyspark.sql import functions as f


@ps.table(comment="One row per reading, as the device sent it.")
def readings():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "device STRING, at TIMESTAMP, celsius DOUBLE")
        .option("cloudFiles.maxFilesPerTrigger", 300)
        .load("data/readings")
    )


@ps.table(comment="Readings that a sensor can have taken.")
@ps.expect_or_drop("known_device", "device IS NOT NULL")
@ps.expect_or_drop("plausible", "celsius BETWEEN -60 AND 150")
def plausible_readings():
    return ps.read_stream("readings").select("device", "at", f.round("celsius", 1).alias("celsius"))
