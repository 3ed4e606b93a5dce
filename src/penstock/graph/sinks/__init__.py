"""Sinks whose options are read before Spark is there: JDBC, and one flow into several sinks."""
