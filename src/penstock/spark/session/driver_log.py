"""The driver's log: what it says of the cluster, and what is left out of it.

Spark logs there why a cluster does not work, and raises something generic or nothing. It also logs an exception of a
user's function with its message: secrets are taken out. The log's own configuration is a file that others could read,
so the layout of the running JVM is replaced by one with a pattern of the secrets, in that JVM's memory only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pyspark.logger import PySparkLogger

from penstock.config.values.secret import REDACTED

_ENTRY: Final = re.compile(r"\d{4}-\d\d-\d\dT\S+ (?P<level>INFO|WARN|ERROR) (?P<logger>\S+) \[.*?\] (?P<text>.*)")
QUOTED: Final = 300
_END: Final = 256 * 1024

_OTHER_SECRET: Final = "spark.authenticate.secret is not the cluster's"  # noqa: S105
_DECISIVE: Final = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        # Settings: no later line says it better.
        (r"Must specify the .*image", None),
        (r"Master removed our application|Application has been killed|YARN application has exited", None),
        (r"SaslException|Mismatched response|Expected SaslMessage|(?i:authentication failed)", _OTHER_SECRET),
        # Not what Spark asks for while it gives up.
        (r"^(?!.*Failure executing: DELETE).*(?:Failure executing: |Unauthorized|(?i:is forbidden))", None),
        (r"Failed to submit application_\d+_\d+ to YARN", None),
        # The network.
        (r"UnknownHostException", None),
        (r"ConnectException|Connection refused|Connection timed out|No route to host|Connection reset", None),
        (r"Retrying connect to server", None),
        (r"Failed to connect to", None),
    )
)
"""What decides that a cluster does not work, the most specific first, and what it means where that is not obvious.

The newest line that matches is quoted.
"""

_EXECUTORS: Final = tuple(
    map(
        re.compile,
        (
            r"Max number of executor failures",
            r"Lost executor",
            r"Executor updated: \S+ is now (?:FAILED|EXITED|LOST|KILLED)",
            r"Initial job has not accepted any resources",
        ),
    )
)
_HARMLESS: Final = re.compile(
    r"NativeCodeLoader|resolves to a loopback|SPARK_LOCAL_IP|MetricsSystem|Service '.*' could not bind|Client \["
    r"|Kubernetes master URL uses HTTP|Error initializing SparkContext"
)
_KUBERNETES: Final = re.compile(
    r"Failure executing: (?P<verb>[A-Z]+) at: \w+://[^/]+(?P<path>/[^\s?]*?)(?:\?\S*)?\. "
    r"Message: (?P<message>.*?)(?:\. Received status: .*|\.)?$"
)
"""How Spark's client says what the API server has answered."""
_MASTER_LOST: Final = re.compile(r"Disconnected from Spark cluster|Connection to \S+ failed; waiting for master")
_MASTER_BACK: Final = re.compile(r"Master has changed, new master is|Connected to Spark cluster")
_YARN_ANSWERS: Final = re.compile(r"Verifying our application|Submitting application|Application report for")
_YARN_APPLICATION: Final = re.compile(r"Submitting application (application_\d+_\d+) to ResourceManager")

# py4j writes this one to the root logger, where a level would silence the user's own messages too.
_CALL_TO_A_DEAD_JVM = "Exception while sending command."


def cause(log: Path, *, or_warning: bool = False) -> str | None:
    """Returns the line that says why the cluster does not work, without time and place; None without any.

    With `or_warning` that is the newest warning when no line is known to be decisive.
    """
    return cause_in(_end_of(log), or_warning=or_warning)


def cause_in(lines: Iterable[str], *, or_warning: bool = False) -> str | None:
    """As `cause`, of lines of a log, oldest first."""
    newest_first = [line for line in reversed([line.strip() for line in lines]) if line and not line.startswith("at ")]
    for pattern, meaning in _DECISIVE:
        for line in newest_first:
            if pattern.search(line):
                return f"{meaning} ({_text(line)})" if meaning else _text(line)
    for line in newest_first:
        entry = _ENTRY.match(line)
        if or_warning and entry is not None and entry["level"] != "INFO" and not _HARMLESS.search(line):
            return _text(line)
    return None


def cause_of_executors(log: Path) -> str | None:
    """Returns the line that says what became of the newest executor, or why none is there; None without any."""
    newest_first = _end_of(log)[::-1]
    found = (line for pattern in _EXECUTORS for line in newest_first if pattern.search(line))
    return next(map(_text, found), None) or cause(log)


def kubernetes_refusal(log: Path) -> str | None:
    """Returns what a Kubernetes API server answered to the newest request that it refused; None without any."""
    for line in reversed(_end_of(log)):
        found = _KUBERNETES.search(line)
        if found is not None and found["verb"] != "DELETE":
            return _text(line)
    return None


def yarn_has_answered(log: Path) -> bool:
    """Whether the resource manager has answered; what the application needs is uploaded next."""
    return any(_YARN_ANSWERS.search(line) for line in _end_of(log))


def yarn_application(log: Path) -> str | None:
    """Returns the id of the application that was submitted to YARN; None before."""
    found = (_YARN_APPLICATION.search(line) for line in reversed(_end_of(log)))
    return next((each[1] for each in found if each is not None), None)


class MasterState:
    """Whether the driver is connected to its standalone master, as its log says line by line."""

    def __init__(self, log: Path) -> None:
        self.lost = False
        self._log = log
        self._read = 0

    def look(self) -> bool:
        """Reads what the log has in addition; returns whether the master is lost."""
        try:
            with self._log.open("rb") as file:
                if file.seek(0, 2) < self._read:
                    self._read = 0  # the log has been rolled over
                file.seek(self._read)
                added = file.read()
        except OSError:
            return self.lost
        whole = added.rpartition(b"\n")[0]
        self._read += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            if _MASTER_LOST.search(line):
                self.lost = True
            elif _MASTER_BACK.search(line):
                self.lost = False
        return self.lost


def _end_of(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _END))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _text(line: str) -> str:
    entry = _ENTRY.match(line)
    text = (entry["text"] if entry else line).removeprefix("Caused by: ").strip()
    if answer := _KUBERNETES.search(text):
        text = f"{answer['message']} ({answer['verb']} {answer['path']})"
    return text[:QUOTED].rstrip(". ")


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
