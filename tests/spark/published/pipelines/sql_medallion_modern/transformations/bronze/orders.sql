-- Every order as it landed.
CREATE OR REFRESH STREAMING TABLE bronze_orders (
  order_id BIGINT NOT NULL COMMENT 'unique in the shop',
  customer STRING,
  items ARRAY<STRUCT<sku: STRING, price: DECIMAL(8,2)>>,
  ordered_at TIMESTAMP,
  source STRING,
  CONSTRAINT order_has_id EXPECT (order_id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT pk PRIMARY KEY (order_id)
)
CLUSTER BY (order_id)
COMMENT 'it''s what the shop sent'
TBLPROPERTIES ('quality' = 'bronze', 'delta.enableChangeDataFeed' = 'true')
AS SELECT order_id, customer, items, ordered_at, _metadata.file_name AS source
FROM STREAM read_files(
  '/Volumes/main/sales/landing/orders',
  format => 'json',
  schemaHints => 'order_id BIGINT, ordered_at TIMESTAMP, items ARRAY<STRUCT<sku: STRING, price: DECIMAL(8,2)>>'
);
CREATE OR REFRESH MATERIALIZED VIEW products AS
SELECT * FROM read_files('/Volumes/main/sales/landing/products', format => 'csv', header => true, schemaHints => 'weight DOUBLE');
