from pyspark import pipelines as dp


@dp.materialized_view
def report():
    hours_by_team = spark.table("hours_by_team")
    return spark.sql("SELECT team, hours > :limit AS over, {column} FROM {h}".replace("{column}", "closed"), args={"limit": 10.0}, h=hours_by_team)
