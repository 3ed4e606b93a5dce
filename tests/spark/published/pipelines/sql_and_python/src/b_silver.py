import dlt
from pyspark.sql.functions import col, pandas_udf
import pandas as pd


@pandas_udf("double")
def hours(minutes: pd.Series) -> pd.Series:
    return minutes / 60.0


@dlt.table
@dlt.expect_or_drop("opened", "minutes IS NOT NULL")
def silver():
    return dlt.read_stream("bronze").withColumn("hours", hours(col("minutes").cast("double"))).drop("_rescued_data")


@dlt.view
def open_tickets():
    return dlt.read("silver").where("NOT closed")
