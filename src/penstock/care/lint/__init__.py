"""What is wrong with streaming code, by reading it: plain PySpark scripts, notebooks and pipeline files. No Spark."""
