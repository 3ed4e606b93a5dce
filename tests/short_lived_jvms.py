"""What Java is told for the processes that tests start: none lives long enough for a compiler to earn back its time."""

from __future__ import annotations

import os
from typing import Final

from penstock.testing.session import SHORT_QUERIES

_JAVA: Final = "spark.driver.extraJavaOptions"

COMPILED_QUERIES: Final = SHORT_QUERIES[_JAVA]
"""Options with which Spark compiles its queries to Java, as it does for a user."""


def start_them_quickly() -> None:
    """Has all JVMs that are started from now on run short queries; what the environment says already stays."""
    settings = [f"-D{key}={value}" for key, value in SHORT_QUERIES.items() if key != _JAVA]
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join([COMPILED_QUERIES, *settings]))
