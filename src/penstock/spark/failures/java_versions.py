"""Classes that were compiled for a newer Java than the one that loads them: on the workers, or on the driver."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from penstock.errors import ConfigError

_TOO_NEW: Final = re.compile(
    r"(?P<name>[\w/$.]+) has been compiled by a more recent version of the Java Runtime \(class file version "
    r"(?P<needed>\d+)\.\d+\), this version of the Java Runtime only recognizes class file versions up to (?P<known>\d+)"
)
"""What the JVM says in an UnsupportedClassVersionError; of one on a worker, it is in the exception of Spark's job."""
_BEFORE_JAVA_1: Final = 44  # the class file version of Java N is 44 + N


def class_needs_newer_java(messages: Iterable[str], dataset: str | None) -> ConfigError | None:
    """Returns which Java a class needs and which it has met, if one of the messages is of that; None otherwise."""
    for message in messages:
        if (found := _TOO_NEW.search(message)) is not None:
            needed, known = (int(found[name]) - _BEFORE_JAVA_1 for name in ("needed", "known"))
            name = found["name"].replace("/", ".")
            return ConfigError("CLASS_NEEDS_NEWER_JAVA", dataset=dataset, java_class=name, needed=needed, known=known)
    return None
