CREATE MATERIALIZED VIEW ${gold_schema}.by_currency_${suffix} AS
SELECT currency, sum(amount) AS amount FROM landing.payments GROUP BY currency;

USE ${gold_schema};

CREATE MATERIALIZED VIEW by_day AS SELECT paid_on, count(*) AS payments FROM landing.payments GROUP BY paid_on;

CREATE MATERIALIZED VIEW busiest AS SELECT max(payments) AS payments, '$' || '{not.a.parameter' AS text FROM by_day;
