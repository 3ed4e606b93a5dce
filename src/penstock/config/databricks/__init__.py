"""Pipelines that were set up for Databricks: the keys of their settings, and asset bundles."""
