"""What Spark's plans of queries say: watermarks, state, keys, definitions."""
