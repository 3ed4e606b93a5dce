-- Databricks notebook source
-- MAGIC %md-sandbox
-- MAGIC # Loans

-- COMMAND ----------

-- DBTITLE 1,Bronze
CREATE STREAMING TABLE txs_landed
  COMMENT "Payments as the bank's system drops them"
AS SELECT * FROM STREAM read_files('/Volumes/main/dbdemos_loans/raw_data/txs_json', format => 'json', inferColumnTypes => true)

-- COMMAND ----------

CREATE MATERIALIZED VIEW treatments
  COMMENT "How each kind of loan is accounted for"
AS SELECT * FROM delta.`/Volumes/main/dbdemos_loans/raw_data/treatments`

-- COMMAND ----------

-- nothing new before Monday
CREATE STREAMING LIVE TABLE loans_of_old_system
  TBLPROPERTIES ("pipelines.trigger.interval"="6 hour")
  COMMENT "Before the migration"
AS SELECT * FROM cloud_files('/Volumes/main/dbdemos_loans/raw_data/old_loans_csv', 'csv', map("cloudFiles.inferColumnTypes", "true"))

-- COMMAND ----------

-- DBTITLE 1,Silver
CREATE STREAMING LIVE VIEW txs_joined 
  COMMENT "Payments with their treatment"
AS SELECT txs.*, ref.treatment as treatment FROM stream(LIVE.txs_landed) txs
  INNER JOIN live.treatments ref ON txs.treatment_id = ref.id

-- COMMAND ----------

CREATE STREAMING LIVE TABLE txs_clean (
  CONSTRAINT `Next payment is due`  EXPECT (next_payment_date > date('2020-12-31')),
  CONSTRAINT `Both balances > 0`    EXPECT (balance > 0 AND arrears_balance > 0) ON VIOLATION DROP ROW,
  CONSTRAINT `Somebody's cost center` EXPECT (cost_center_code IS NOT NULL) ON VIOLATION FAIL UPDATE
  -- the others are below
)
  COMMENT "Payments that passed the rules"
AS SELECT * from STREAM(live.txs_joined)

-- COMMAND ----------

-- the same rules turned round
CREATE STREAMING LIVE TABLE txs_quarantined (
  CONSTRAINT `Next payment is due`  EXPECT (next_payment_date <= date('2020-12-31')),
  CONSTRAINT `Both balances > 0`    EXPECT (balance <= 0 OR arrears_balance <= 0) ON VIOLATION DROP ROW
)
  COMMENT "Payments that somebody has to look at"
AS SELECT * from STREAM(live.txs_joined)

-- COMMAND ----------

CREATE LIVE VIEW old_loans_checked (
  CONSTRAINT `Grade A to G` EXPECT (grade in ('A', 'B', 'C', 'D', 'E', 'F', 'G'))
)
AS SELECT * FROM LIVE.loans_of_old_system

-- COMMAND ----------

CREATE LIVE TABLE old_loans (
  CONSTRAINT `Recoveries are whole numbers` EXPECT (CAST(recoveries as INT) IS NOT NULL) ON VIOLATION DROP ROW
)
  COMMENT "Old loans that passed the rules"
AS SELECT l.grade, l.balance, l.recoveries, l.country_code, ref.treatment from LIVE.old_loans_checked l
  INNER JOIN LIVE.treatments ref ON l.treatment_id = ref.id

-- COMMAND ----------

-- DBTITLE 1,Gold
CREATE LIVE TABLE balances_by_country
  COMMENT "Old and new balances, one row each"
  TBLPROPERTIES ("pipelines.autoOptimize.zOrderCols" = "location_code")
AS SELECT sum(balance) AS bal, country_code AS location_code FROM live.old_loans  GROUP BY country_code
  UNION ALL SELECT SUM(balance) AS bal, country_code AS location_code FROM LIVE.txs_clean GROUP BY country_code

-- COMMAND ----------

CREATE OR REPLACE MATERIALIZED VIEW balances_by_center
  COMMENT "For the cost centers' own dashboards"
AS SELECT sum(balance) as sum_balance, cost_center_code FROM txs_clean
  GROUP BY cost_center_code
