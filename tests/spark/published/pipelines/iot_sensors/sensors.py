from pyspark import pipelines as dp
from pyspark.sql.functions import avg, col, count, max as max_, row_number, window
from pyspark.sql.window import Window

LANDING = spark.conf.get("plant.landing")


@dp.table(name="readings_raw", comment="One row per message of a sensor")
def readings_raw():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "ts TIMESTAMP, temperature DOUBLE, humidity DOUBLE")
        .load(f"{LANDING}/readings")
    )


@dp.materialized_view(name="devices")
def devices():
    return spark.read.option("header", True).schema("device_id STRING, hall STRING, max_temperature DOUBLE").csv(f"{LANDING}/devices.csv")


@dp.table(name="readings", cluster_by=["device_id"])
@dp.expect_all_or_drop({"has a device": "device_id IS NOT NULL", "plausible temperature": "temperature BETWEEN -50 AND 150"})
@dp.expect("humidity in percent", col("humidity").between(0, 100))
def readings():
    return spark.readStream.table("readings_raw").select("device_id", "ts", "temperature", "humidity")


@dp.table(name="readings_5min", spark_conf={"pipelines.trigger.interval": "10 seconds"})
def readings_5min():
    return (
        spark.readStream.table("readings")
        .withWatermark("ts", "10 minutes")
        .groupBy("device_id", window("ts", "5 minutes"))
        .agg(avg("temperature").alias("avg_temperature"), max_("temperature").alias("max_temperature"), count("*").alias("n"))
        .select("device_id", col("window.start").alias("start"), "avg_temperature", "max_temperature", "n")
    )


@dp.materialized_view(name="latest_reading")
def latest_reading():
    newest_first = Window.partitionBy("device_id").orderBy(col("ts").desc())
    return (
        spark.read.table("readings").withColumn("rank", row_number().over(newest_first)).where("rank = 1").drop("rank", "humidity")
    )


@dp.materialized_view(name="overheated")
def overheated():
    return (
        spark.read.table("latest_reading").join(spark.read.table("devices"), "device_id")
        .where(col("temperature") > col("max_temperature")).select("hall", "device_id", "temperature")
    )
