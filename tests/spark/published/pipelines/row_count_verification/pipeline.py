import dlt
from pyspark.sql.functions import col, count, countDistinct


@dlt.table
def tbla():
    return spark.read.json("data/orders", schema="id INT, customer INT")


@dlt.table
def report():
    return dlt.read("tbla").filter("customer IS NOT NULL")


@dlt.table(name="customers")
def customers_():
    return spark.read.schema("customer INT, name STRING").json("data/customers")


@dlt.table(comment="No records dropped", temporary=True)
@dlt.expect_or_fail("no_rows_dropped", "count_a == count_b + without_customer")
def count_verification():
    return spark.sql("""SELECT * FROM
        (SELECT COUNT(*) AS count_a, COUNT_IF(customer IS NULL) AS without_customer FROM LIVE.tbla),
        (SELECT COUNT(*) AS count_b FROM LIVE.report)""")


@dlt.table(temporary=True)
@dlt.expect_or_fail("unique_pk", "num_entries = 1")
def pk_verification():
    return dlt.read("customers").groupBy("customer").agg(count("*").alias("num_entries"))


@dlt.view
@dlt.expect("report has all customers", "r_customer IS NOT NULL")
def left_join_check():
    r = dlt.read("report").select(col("customer").alias("r_customer")).distinct()
    return dlt.read("customers").join(r, col("customer") == col("r_customer"), "left_outer")


@dlt.table
def customers_without_orders():
    return dlt.read("left_join_check").where("r_customer IS NULL").select("customer", "name")
