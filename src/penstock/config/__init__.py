"""Reads and checks penstock.yml and spark-pipeline.yml."""
