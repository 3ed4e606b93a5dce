from pyspark import pipelines as dp
from pyspark.sql.functions import col, date_trunc


@dp.table
def flagged_rides():
    return (
        spark.readStream.table("lakehouse.taxi.taxi_raw_records")
        .where(((col("zip") == "10001") & (col("fare") > 50)) | ((col("trip_distance") < 5) & (col("fare") > 45)))
        .select(date_trunc("week", "pickup").alias("week"), "zip", "fare", "trip_distance")
    )
