CREATE OR REFRESH STREAMING TABLE payments (
  CONSTRAINT `positive amount` EXPECT (amount > 0) ON VIOLATION QUARANTINE,
  CONSTRAINT `known currency` EXPECT (currency IN ("EUR", "USD")) ON VIOLATION QUARANTINE,
  CONSTRAINT `has id` EXPECT (id IS NOT NULL) ON VIOLATION QUARANTINE,
  CONSTRAINT `no test rows` EXPECT (customer <> 'test') ON VIOLATION DROP ROW
)
AS SELECT id, amount, currency, customer FROM STREAM read_files("data/payments", format => "json", schemaHints => "id INT, amount DOUBLE")
