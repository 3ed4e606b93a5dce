-- Databricks notebook source
-- MAGIC %md
-- MAGIC # Retail sales; with a semicolon in the text

-- COMMAND ----------

-- DBTITLE 1,Bronze
CREATE INCREMENTAL LIVE TABLE customers
COMMENT "Who buys; one export a night"
TBLPROPERTIES ("acme.quality" = "mapping")
AS SELECT * FROM cloud_files("/databricks-datasets/retail-org/customers/", "csv");

-- COMMAND ----------

CREATE STREAMING LIVE TABLE orders_raw
COMMENT "What was ordered, untouched"
TBLPROPERTIES (acme.quality = "bronze", pipelines.autoOptimize.managed = "true")
AS
SELECT * FROM cloud_files("/databricks-datasets/retail-org/orders/", "json", map("cloudFiles.inferColumnTypes", "true"))

-- COMMAND ----------

-- DBTITLE 1,Silver
CREATE STREAMING LIVE TABLE orders_clean(
  CONSTRAINT valid_order_number EXPECT (order_number IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT `a customer` EXPECT (customer_name IS NOT NULL)
)
PARTITIONED BY (order_date)
COMMENT "Orders that have a number, by day"
TBLPROPERTIES ("quality" = "silver")
AS
SELECT f.customer_id, f.customer_name, f.number_of_line_items, 
  timestamp(from_unixtime((cast(f.order_datetime as long)))) as order_datetime, 
  date(from_unixtime((cast(f.order_datetime as long)))) as order_date, 
  f.order_number, f.ordered_products, f.city
  FROM (SELECT o.customer_id, o.number_of_line_items, o.order_datetime, o.order_number, o.ordered_products, c.customer_name, c.city
  FROM STREAM(LIVE.orders_raw) o
  LEFT JOIN LIVE.customers c
      ON c.customer_id = o.customer_id) f

-- COMMAND ----------

-- DBTITLE 1,Gold
CREATE LIVE TABLE orders_la
COMMENT "Los Angeles by day, customer and currency"
TBLPROPERTIES ("quality" = "gold")
AS
SELECT city, order_date, customer_id, customer_name, product.curr as currency, SUM(product.price) as sales, SUM(product.qty) as qty, COUNT(product.name) as product_count
FROM (
  SELECT city, DATE(order_datetime) as order_date, customer_id, customer_name, EXPLODE(ordered_products) as product
  FROM LIVE.orders_clean 
  WHERE city = 'Los Angeles'
  )
GROUP BY order_date, city, customer_id, customer_name, currency

-- COMMAND ----------

CREATE OR REFRESH LIVE TABLE orders_chicago
COMMENT "The same for Chicago"
AS
SELECT city, order_date, customer_id, customer_name, p.curr as currency, SUM(p.price) as sales, SUM(p.qty) as qty, COUNT(p.name) as product_count
FROM live.orders_clean LATERAL VIEW explode(ordered_products) e AS p
WHERE city = "Chicago"
GROUP BY ALL;

-- COMMAND ----------

-- MAGIC %md the end
