import functools

import dlt
from pyspark.sql.functions import *


@dlt.table(name="city_calls", comment="every call to the city")
@dlt.expect_or_drop("has arrival", "received IS NOT NULL")
@dlt.expect_or_drop("has answer", "responded IS NOT NULL")
@dlt.expect_or_drop("has area", "area != 'None'")
def all_calls():
  return (
    spark.read.format('csv')
      .option('header', 'true')
      .option('multiline', 'true')
      .load(spark.conf.get("fire.source") + '/calls.csv')
      .withColumnRenamed('Call Type', 'call_type')
      .withColumnRenamed('Received DtTm', 'received')
      .withColumnRenamed('Response DtTm', 'responded')
      .withColumnRenamed('Area', 'area')
      .select('call_type', 'received', 'responded', 'area')
  )


response_tables = []

def declare_kind(call_table, response_table, filter):
  @dlt.table(name=call_table, comment="calls of one kind")
  def calls_of_kind():
    return spark.sql("""
      SELECT
        unix_timestamp(received,'M/d/yyyy h:m:s a') as ts_received,
        unix_timestamp(responded,'M/d/yyyy h:m:s a') as ts_responded,
        area
      FROM LIVE.city_calls
      WHERE call_type = '{filter}'
    """.format(filter=filter))

  @dlt.table(name=response_table, comment="the ten areas that waited least")
  def waits_of_kind():
    return spark.sql("""
      SELECT area, AVG((ts_responded - ts_received)) as response_time
      FROM LIVE.{call_table}
      GROUP BY 1
      ORDER BY response_time
      LIMIT 10
    """.format(call_table=call_table))

  response_tables.append(response_table)


declare_kind("alarms_table", "alarms_response", "Alarms")
declare_kind("fire_table", "fire_response", "Structure Fire")
declare_kind("medical_table", "medical_response", "Medical Incident")


@dlt.table(name="quickest_areas", comment="how often an area is among the quickest")
def summary():
  frames = [dlt.read(t) for t in response_tables]
  together = functools.reduce(lambda x, y: x.union(y), frames)
  return together.groupBy(col("area")).agg(count("*").alias("lists")).orderBy(desc("lists"))
