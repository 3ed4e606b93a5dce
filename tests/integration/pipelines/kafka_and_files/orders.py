# Two independent halves: orders by Kafka, returned goods by file.
import dlt
from pyspark.sql.functions import col, sum


@dlt.table
def bronze_orders():
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", spark.conf.get("broker"))
        .option("kafka.default.api.timeout.ms", "4000")
        .option("kafka.request.timeout.ms", "3000")
        .option("subscribe", "orders_topic")
        .option("startingOffsets", "earliest")
        .load()
    )


@dlt.table
def silver_orders():
    return dlt.read_stream("bronze_orders").select(col("value").cast("string").alias("raw"))


@dlt.table
def orders_by_length():
    return dlt.read("silver_orders").groupBy("raw").count()


@dlt.table
def bronze_returns():
    return (
        spark.readStream.format("cloudFiles")
        .option("cloudFiles.format", "json")
        .option("cloudFiles.schemaHints", "quantity INT")
        .load(spark.conf.get("returns"))
    )


@dlt.table
def returns_by_product():
    return dlt.read("bronze_returns").groupBy("product").agg(sum("quantity").alias("quantity"))
