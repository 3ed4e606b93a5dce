from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def shape(df: DataFrame, columns: dict, casts: dict) -> DataFrame:
    for old, new in columns.items():
        df = df.withColumnRenamed(old, new)
    for name, type_ in casts.items():
        df = df.withColumn(name, F.col(name).try_cast(type_))
    return df


def audited(df):
    return df.withColumn("_source", F.element_at(F.split(F.input_file_name(), "/"), -1))
