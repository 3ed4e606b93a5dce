"""The jars of the installed PySpark, and the class path of the driver."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError


def _package_folder(name: str) -> Path:
    """Returns the folder of an installed package without importing it, which takes as long as a JVM's launch."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return Path(spec.origin).parent


SPARK_HOME = _package_folder("pyspark")

_FIRST: Final = (
    "slf4j-api-",  # as in Spark's launcher: other jars bring older copies of these classes
    "spark-",  # Spark reads the code of its classes for each step of each query, and Java looks into jar after jar
)


def spark_class_path(jars: Sequence[Path]) -> list[Path]:
    """Returns Spark's own jars in a fixed order, then `jars`. A class archive is valid for exactly this list."""
    return [*sorted((SPARK_HOME / "jars").glob("*.jar"), key=_place), *jars]


def _place(jar: Path) -> tuple[int, str]:
    for place, beginning in enumerate(_FIRST):
        if jar.name.startswith(beginning):
            return place, jar.name
    return len(_FIRST), jar.name


def ivy_jar() -> Path:
    """Returns the jar of Apache Ivy, which Spark ships."""
    for jar in (SPARK_HOME / "jars").glob("ivy-*.jar"):
        return jar
    raise ConfigError("PYSPARK_INCOMPLETE", folder=SPARK_HOME)
