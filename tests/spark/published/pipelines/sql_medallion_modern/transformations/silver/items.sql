CREATE TEMPORARY VIEW exploded COMMENT 'one row an item' AS
  SELECT order_id, customer, ordered_at, explode(items) AS item FROM STREAM bronze_orders;

CREATE OR REFRESH PRIVATE STREAMING TABLE items
( CONSTRAINT positive_price EXPECT (price > 0) ON VIOLATION DROP ROW )
PARTITIONED BY (day)
AS SELECT
  * EXCEPT (item, ordered_at),
  item.sku, item.price,
  CAST(ordered_at AS DATE) AS day
FROM STREAM(exploded);
