"""Finding arriving files in large folders, and reading JSON, beside Spark's own stream of files."""
