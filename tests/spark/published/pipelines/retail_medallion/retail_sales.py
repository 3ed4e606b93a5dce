import dlt
from pyspark.sql.functions import *
from pyspark.sql.types import *


@dlt.create_table(
  comment="Who buys; one export a night",
  table_properties={
    "acme.quality": "bronze",
    "pipelines.autoOptimize.managed": "true"
  }
)
def customers():
  return (
    spark.readStream.format("cloudFiles")
      .option("cloudFiles.format", "csv")
      .option("cloudFiles.schemaLocation", "/tmp/retail/_schemas/customers")
      .option("header", "true")
      .load("/databricks-datasets/retail/customers/")
  )


@dlt.create_table(
  comment="What was ordered, untouched",
  table_properties={"acme.quality": "bronze"}
)
def orders_raw():
  return (
    spark.readStream.format("cloudFiles")
      .option("cloudFiles.format", "json")
      .option("cloudFiles.inferColumnTypes", True)
      .load("/databricks-datasets/retail/orders/")
  )


@dlt.create_table(
  comment="Orders that have a number, by day",
  partition_cols=["order_date"],
  table_properties={"acme.quality": "silver"}
)
@dlt.expect_or_drop("valid order_number", "order_number IS NOT NULL")
@dlt.expect("line items match", "size(ordered_products) = number_of_line_items")
def orders_clean():
  df = dlt.read_stream("orders_raw").join(dlt.read("customers"), ["customer_id"], "left")
  df = df.withColumn("order_datetime", from_unixtime(df.order_datetime).cast("TIMESTAMP"))
  df = df.withColumn("order_date", df.order_datetime.cast("DATE"))
  df = df.select("customer_id", "customer_name", "city", "number_of_line_items", "order_datetime",
                 "order_date", "order_number", "ordered_products")
  return df


# the city tables differ in the filter only, and one of them is incremental
@dlt.create_table(comment="Los Angeles by day, customer and currency", table_properties={"acme.quality": "gold"})
def orders_la():
  df = dlt.read_stream("orders_clean").where("city == 'Los Angeles'")
  df = df.select(df.order_date, df.city, df.customer_id, df.customer_name, explode(df.ordered_products).alias("product"))
  dfAgg = df.groupBy(df.order_date, df.city, df.customer_id, df.customer_name, df.product.curr.alias("currency")) \
    .agg(sum(df.product.price).alias("sales"),
         sum(df.product.qty).alias("qty"),
         count("product.name").alias("product_count"))
  return dfAgg


@dlt.create_table(comment="The same for Chicago", table_properties={"acme.quality": "gold"})
def orders_chicago():
  df = dlt.read("orders_clean").where("city == 'Chicago'")
  df = df.select("order_date", "city", "customer_id", "customer_name", explode("ordered_products").alias("p"))
  return df.groupBy("order_date", "city", "customer_id", "customer_name", col("p.curr").alias("currency")).agg(
    sum("p.price").alias("sales"), sum("p.qty").alias("qty"), count("p.name").alias("product_count"))
