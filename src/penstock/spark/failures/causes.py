"""Spark's and Delta's exceptions as Python sees them: the chain of causes, and the line that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from penstock.spark._jvm import SPARK_ERROR, is_instance
from penstock.spark.failures.data_exceptions import QueryPlace, query_place
from penstock.spark.failures.own_classes import class_without_member

DATA_EXCEPTION = "22"
"""The class of SQLSTATE: a cast, an overflow, a division by zero; the same at each attempt."""
_LONGEST_DETAIL = 500
_TRACEBACK = "Traceback (most recent call last)"
_IO_FAILURES = (
    "java.io.IOException",
    "java.net.SocketTimeoutException",
    "java.nio.file.FileSystemException",
    "org.apache.hadoop.fs.FSError",
    "org.apache.hadoop.fs.PathIOException",
)
_FILE_SYSTEMS = (
    "org.apache.hadoop.fs.",
    "org.apache.spark.sql.execution.streaming.checkpointing.",
    "penstock.localdisk.",
)
"""Whoever throws one of those below a call of these has met a disk or an object store that does not work."""
_DATABASE = ("java.sql.", "org.postgresql.util.PSQL")


@dataclass(frozen=True, slots=True)
class Cause:
    """One exception of a Java cause chain."""

    class_name: str
    condition: str | None
    message: str
    parameters: dict[str, str]
    sql_state: str | None = None
    is_storage: bool = False
    """Whether the storage itself has failed: no file is missing or damaged, but could not be read or written."""
    place: QueryPlace | None = None
    own_class: str | None = None
    """The Java class of Penstock that found a part of Spark, Delta or Hadoop missing."""


def causes_of(error: BaseException) -> Iterator[Cause]:
    """Walks a Python exception into the Java exceptions behind it, outermost first."""
    throwable: Any = None
    if isinstance(error, CapturedException):
        throwable = error._origin
        if throwable is None:
            yield Cause(type(error).__name__, error.getCondition(), _message(error), {})
            throwable = getattr(error._cause, "_origin", None) if error._cause else None
            if throwable is None and error._cause is not None:
                yield from causes_of(error._cause)
    elif isinstance(error, Py4JJavaError):
        throwable = error.java_exception
    seen = 0
    # A JVM that has died since no longer answers.
    with suppress(Py4JNetworkError, OSError):
        while throwable is not None and seen < 20:
            seen += 1
            condition, state, parameters, place = None, None, {}, None
            if is_instance(throwable, SPARK_ERROR):
                condition, state = throwable.getCondition(), throwable.getSqlState()
                place = query_place(throwable) if (state or "").startswith(DATA_EXCEPTION) else None
                with suppress(Py4JError):  # reflection finds no method on a class that Scala made private
                    found = throwable.getMessageParameters()
                    parameters = {str(key): str(found[key]) for key in found} if found else {}
            name = throwable.getClass().getName()
            if name.startswith(_DATABASE):
                state = throwable.getSQLState()
            is_storage = name in _IO_FAILURES and _is_thrown_by_storage(throwable)
            message = str(throwable.getMessage() or name)  # an EOFException has none, for example
            own = class_without_member(throwable)
            yield Cause(name, condition, message, parameters, state, is_storage, place, own)
            throwable = throwable.getCause()


def _is_thrown_by_storage(throwable: Any) -> bool:
    return any(frame.getClassName().startswith(_FILE_SYSTEMS) for frame in throwable.getStackTrace())


def failure_messages(error: BaseException) -> tuple[str, ...]:
    """Returns the message of each exception behind a failure, outermost first."""
    return tuple(cause.message for cause in causes_of(error))


def reason_of(error: PySparkException) -> str:
    """Returns what Spark says is wrong, in one line, without the plan and the stack trace."""
    return first_line(_message(error))


def first_line(text: str) -> str:
    """Returns the part of a Spark message that says what is wrong: up to the plan or the stack trace.

    Of a Python worker's stack trace it is the end: the user's own exception.
    """
    text = re.sub(r"\s*SQLSTATE: \w+", "", text.strip())
    if _TRACEBACK in text:
        line = [line for line in text.splitlines() if line and not line[0].isspace()][-1]
    else:
        line = re.split(r"\n|; line \d+ pos|;\s*~|;$", text, maxsplit=1)[0].strip().removesuffix(";")
    return line if len(line) <= _LONGEST_DETAIL else line[:_LONGEST_DETAIL] + "…"


def _message(error: PySparkException) -> str:
    return str(getattr(error, "desc", None) or getattr(error, "_desc", None) or error)
