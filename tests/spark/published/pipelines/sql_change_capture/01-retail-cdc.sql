-- Databricks notebook source
CREATE OR REFRESH STREAMING LIVE TABLE customers_cdc
COMMENT "Events of the CRM"
AS SELECT * FROM cloud_files("/Volumes/main/dbdemos/cdc_raw/customers", "json", map("cloudFiles.inferColumnTypes", "true", "cloudFiles.schemaHints", "operation_date TIMESTAMP"));

-- COMMAND ----------

-- nobody outside needs this one
CREATE OR REFRESH TEMPORARY STREAMING TABLE customers_cdc_clean(
  CONSTRAINT valid_id EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT valid_operation EXPECT (operation IN ('APPEND', 'DELETE', 'UPDATE')) ON VIOLATION DROP ROW,
  CONSTRAINT valid_json EXPECT (_rescued_data IS NULL) ON VIOLATION DROP ROW
)
COMMENT "Events that can be applied"
AS SELECT * FROM STREAM(live.customers_cdc)

-- COMMAND ----------

CREATE OR REFRESH STREAMING LIVE TABLE customers
  COMMENT "Customers as of now";

-- COMMAND ----------

APPLY CHANGES INTO live.customers
FROM stream(live.customers_cdc_clean)
  KEYS (id)
  APPLY AS DELETE WHEN operation = "DELETE"
  SEQUENCE BY operation_date -- a timestamp, or any number that grows
  COLUMNS * EXCEPT (operation, operation_date, _rescued_data)

-- COMMAND ----------

CREATE OR REFRESH STREAMING TABLE Customers_History COMMENT "Customers and what they were";

-- every version
CREATE FLOW customers_versions AS AUTO CDC INTO Customers_History
FROM STREAM(customers_cdc_clean)
  KEYS (id)
  APPLY AS DELETE WHEN operation = "DELETE"
  SEQUENCE BY operation_date
  COLUMNS * EXCEPT (operation, operation_date, _rescued_data)
  STORED AS SCD TYPE 2 ;

-- COMMAND ----------

CREATE LIVE TABLE customers_by_domain AS SELECT split(email, "@")[1] AS domain, count(*) AS customers FROM live.customers GROUP BY 1
