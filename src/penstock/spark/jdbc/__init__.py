"""Rows of a stream into a table of PostgreSQL, each once."""

from penstock.spark.jdbc.connection import unknown_options, with_defaults
from penstock.spark.jdbc.failures import SinkPlace
from penstock.spark.jdbc.prepare import prepare
from penstock.spark.jdbc.writer import JdbcBatches

__all__ = ["JdbcBatches", "SinkPlace", "prepare", "unknown_options", "with_defaults"]
