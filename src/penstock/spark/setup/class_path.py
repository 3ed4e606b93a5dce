"""The jars of the installed PySpark, and the class path of the driver."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyspark

from penstock.errors import ConfigError

SPARK_HOME = Path(os.path.dirname(pyspark.__file__))


def spark_class_path(jars: Sequence[Path]) -> list[Path]:
    """Returns Spark's own jars in a fixed order, then `jars`. A class archive is valid for exactly this list."""
    own = sorted((SPARK_HOME / "jars").glob("*.jar"))
    # As in Spark's launcher: other jars bring older copies of these classes.
    own.sort(key=lambda jar: not jar.name.startswith("slf4j-api-"))
    return [*own, *jars]


def ivy_jar() -> Path:
    """Returns the jar of Apache Ivy, which Spark ships."""
    for jar in (SPARK_HOME / "jars").glob("ivy-*.jar"):
        return jar
    raise ConfigError("PYSPARK_INCOMPLETE", folder=SPARK_HOME)
