"""Penstock: declarative streaming pipelines on Spark Structured Streaming and Delta Lake."""
