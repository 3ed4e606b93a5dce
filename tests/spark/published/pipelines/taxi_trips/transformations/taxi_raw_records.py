from pyspark import pipelines as dp
from pyspark.sql.functions import col, input_file_name


@dp.table(comment="Trips, valid ones only")
@dp.expect_or_drop("valid_distance", f"trip_distance > {spark.conf.get('taxi.min_distance')}")
def taxi_raw_records():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "csv")
        .option("header", True)
        .schema("pickup TIMESTAMP, dropoff TIMESTAMP, trip_distance DOUBLE, fare DOUBLE, zip STRING")
        .load("dbfs:/databricks-datasets/nyctaxi/trips")
        .withColumn("file", input_file_name())
    )
