"""Secrets are left out of Spark's log: an exception of a user's function, with its message, is written there.

The log's own configuration is a file that others could read. So its layout is replaced in the running JVM by the same
one with a pattern of the secrets, which is then in that JVM's memory only.
"""

from __future__ import annotations

from typing import Any

from penstock.config.secret import REDACTED

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
