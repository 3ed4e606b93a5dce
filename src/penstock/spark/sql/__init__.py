"""What a query may say on top of Spark's own SQL: dataset names, table functions, and where an error is."""
