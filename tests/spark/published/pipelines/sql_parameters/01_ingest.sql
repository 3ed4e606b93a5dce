USE CATALOG main;
USE SCHEMA landing;

SET pipelines.trigger.interval=15 minutes;
SET spark.source;
SET payments_path = ${source.path}/payments;

CREATE OR REFRESH STREAMING TABLE payments
COMMENT "read from ${payments_path}"
AS SELECT id, amount, currency, to_date(paid_on) AS paid_on
FROM STREAM read_files("${payments_path}", format => "csv", header => "true", delimiter => "|", schemaHints => "id INT, amount DOUBLE")
WHERE amount >= ${min.amount};
