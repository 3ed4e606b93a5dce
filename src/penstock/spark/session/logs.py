"""What is left out of logs: secrets, and stack traces of what Penstock reports itself.

Spark logs an exception of a user's function with its message. The log's own configuration is a file that others could
read, so the layout of the running JVM is replaced by one with a pattern of the secrets, in that JVM's memory only.
"""

from __future__ import annotations

import logging
from typing import Any

from pyspark.logger import PySparkLogger

from penstock.config.secret import REDACTED

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


_APPENDER = "file"  # of log4j2.properties


def leave_out_of_log(gateway: Any, pattern: str) -> None:
    """Replaces what the regular expression `pattern` finds in each entry of the log, its stack trace included."""
    log4j = gateway.jvm.org.apache.logging.log4j
    configuration = log4j.LogManager.getContext(False).getConfiguration()
    appender = configuration.getAppender(_APPENDER)
    found = gateway.jvm.java.util.regex.Pattern.compile(pattern)
    layout = (
        log4j.core.layout.PatternLayout.newBuilder()
        .withConfiguration(configuration)
        .withPattern(appender.getLayout().getConversionPattern())
        .withRegexReplacement(log4j.core.pattern.RegexReplacement.createRegexReplacement(found, REDACTED))
        .build()
    )
    kind = appender.getClass()
    while kind.getSimpleName() != "AbstractAppender":
        kind = kind.getSuperclass()
    field = kind.getDeclaredField("layout")
    field.setAccessible(True)
    field.set(appender, layout)
