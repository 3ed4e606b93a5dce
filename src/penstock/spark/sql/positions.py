"""What Spark says about the place of an error, in the words of the author."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from penstock.errors import StatementPosition
from penstock.spark import _jvm
from penstock.spark.failures.statement_places import set_position
from penstock.spark.sql.edits import EditedStatement


@contextmanager
def placing_as_spark_says(statement: EditedStatement) -> Iterator[None]:
    """Gives exceptions of Spark from inside the place that they name, in the text before its edits."""
    try:
        yield
    except PySparkException as error:
        offset = _jvm.statement_offset(error, statement.text)
        if offset is not None:
            set_position(error, StatementPosition.of(statement.original, statement.original_offset(offset)))
        raise
