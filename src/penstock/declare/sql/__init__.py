"""The SQL front end: the shells of a pipeline's statements are read here, their queries by Spark."""

from penstock.declare.sql.script import SqlScript

__all__ = ["SqlScript"]
