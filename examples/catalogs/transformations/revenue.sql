USE CATALOG silver;
USE SCHEMA sales;

-- Here `orders` is silver.sales.orders.
CREATE OR REFRESH MATERIALIZED VIEW revenue COMMENT 'Revenue of each shop.'
AS SELECT shop, count(*) AS orders, sum(amount) AS revenue FROM orders GROUP BY shop;
