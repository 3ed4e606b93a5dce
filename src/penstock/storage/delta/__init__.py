"""Delta tables without Spark: their location, log, commits and data files."""
