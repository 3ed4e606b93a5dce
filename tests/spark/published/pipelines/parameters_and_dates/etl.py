from datetime import date, timedelta

import dlt
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, current_timestamp, lit, to_date

dlt.enable_local_execution()
spark = SparkSession.builder.getOrCreate()

start_date = date.fromisoformat(spark.conf.get("mypipeline.startDate"))
countries = spark.conf.get("my_etl.countries").split(",")
input_path = spark.conf.get("my_etl.input_path")
full_load = spark.conf.get("my_etl.full_load", "false") == "true"


@dlt.table
def events():
    df = spark.readStream.schema("id INT, country STRING, day DATE").option("maxFilesPerTrigger", 1).json(f"{input_path}/events")
    return df.where(col("day") >= lit(start_date)).withColumn("processed_at", current_timestamp())


def daily(day):
    @dlt.table(name=f"events_{day:%Y%m%d}", comment=f"Events of {day}")
    @dlt.expect_or_fail("the right day", f"day = DATE'{day}'")
    def table():
        return dlt.read("events").where(col("day") == lit(day)).select("id", "country", "day")


for offset in range(int(spark.conf.get("mypipeline.days"))):
    daily(start_date + timedelta(days=offset))

for country in countries:
    @dlt.table(name=f"events_{country}")
    def by_country(c=country):
        return spark.read.table("events").filter(col("country") == c).select("id", "day")

if full_load:
    @dlt.table
    def everything():
        return spark.read.schema("id INT").json(f"{input_path}/events")
