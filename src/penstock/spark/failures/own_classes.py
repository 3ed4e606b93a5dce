"""Java classes of Penstock that rely on a part of Spark, Delta or Hadoop that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import ExternalError
from penstock.spark._jvm import is_instance


def class_without_member(throwable: Any) -> str | None:
    """Returns the class of Penstock that threw this LinkageError, None for another exception or another's class."""
    if not is_instance(throwable, "java.lang.LinkageError"):
        return None
    frames = (str(frame.getClassName()) for frame in throwable.getStackTrace())
    thrower = next((name for name in frames if not name.startswith(("java.", "jdk."))), "")
    return thrower if thrower.startswith("penstock.") else None


def changed_internals(causes: Iterable[tuple[str | None, str]], dataset: str | None) -> ExternalError | None:
    """Returns what it means that one of the causes was thrown so; each is its class of Penstock and its message."""
    for own_class, message in causes:
        if own_class is not None:
            detail = message.partition("\n")[0]
            return ExternalError("SPARK_INTERNALS_CHANGED", dataset=dataset, java_class=own_class, detail=detail)
    return None
