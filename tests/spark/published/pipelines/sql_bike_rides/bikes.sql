-- Databricks notebook source
CREATE TEMPORARY STREAMING TABLE RIDES_RAW
AS SELECT * FROM cloud_files("/databricks-datasets/bikes/rides", "csv", map("cloudFiles.schemaHints", "started_at TIMESTAMP, ended_at TIMESTAMP, bike_id INT"))
-- COMMAND ----------
CREATE LIVE TABLE weather AS SELECT CAST(date AS DATE) AS ride_date, CAST(temperature AS DOUBLE) AS temperature FROM read_files("/databricks-datasets/bikes/weather.csv", format => "csv", header => "true")
-- COMMAND ----------
-- DBTITLE 1,Clean
CREATE STREAMING LIVE TABLE rides_clean (
  ride_id STRING, bike_id INT, user_type STRING, ride_date DATE, minutes DOUBLE, temperature DOUBLE,
  CONSTRAINT `ride has an end` EXPECT (minutes IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT `no time travel`  EXPECT (minutes >= 0) ON VIOLATION DROP ROW
) PARTITIONED BY (ride_date)
AS
SELECT ride_id, bike_id, user_type, CAST(started_at AS DATE) ride_date, (unix_timestamp(ended_at) - unix_timestamp(started_at)) / 60 minutes, w.temperature
FROM STREAM(live.rides_raw) r
LEFT JOIN live.weather w ON w.ride_date = date(r.started_at)
-- COMMAND ----------
CREATE LIVE TABLE bikes_to_check AS
SELECT bike_id, round(sum(minutes), 2) minutes FROM LIVE.RIDES_CLEAN GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3
