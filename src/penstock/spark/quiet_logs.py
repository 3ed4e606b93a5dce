"""Keeps PySpark and py4j from printing, with its stack trace, what Penstock reports by itself."""

import logging

from pyspark.logger import PySparkLogger

# py4j writes this one to the root logger, where a level would silence the user's own messages too.
_CALL_TO_A_DEAD_JVM = "Exception while sending command."


def report_failures_only_once() -> None:
    """Silences the loggers of failed analyses, failed functions of sinks and calls to a dead JVM.

    The session calls it when it begins; calling it again changes nothing. Other loggers are left as they are.
    """
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_a_dead_jvm)


def _is_not_of_a_dead_jvm(record: logging.LogRecord) -> bool:
    return record.msg != _CALL_TO_A_DEAD_JVM
