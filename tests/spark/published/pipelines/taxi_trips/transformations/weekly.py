from pyspark import pipelines as dp
from pyspark.sql import functions as F


@dp.materialized_view(cluster_by=["week"])
def weekly_stats():
    df = spark.read.table("taxi.taxi_raw_records")
    return df.groupBy(F.date_trunc("week", "pickup").alias("week")).agg(
        F.avg("fare").alias("avg_fare"), F.avg("trip_distance").alias("avg_distance")
    )


@dp.materialized_view
def top_n():
    return spark.sql("""
      SELECT s.week, round(s.avg_fare, 2) AS avg_fare, f.fare, f.zip
      FROM lakehouse.taxi.flagged_rides f JOIN `lakehouse`.`taxi`.`weekly_stats` s ON f.week = s.week
      ORDER BY f.fare DESC, f.zip
      LIMIT 3
    """)
