"""The jars that a driver gets: those of the installed PySpark, and the locked sets, each jar with its sha256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError


@dataclass(frozen=True, slots=True, order=True)
class LockedJar:
    """One jar of a Maven repository: its coordinates, `size` in bytes and `sha256` in hexadecimal.

    `classifier` is that of an artifact beside the main one, such as `shaded`.
    """

    organisation: str
    name: str
    revision: str
    size: int
    sha256: str
    classifier: str = ""

    @property
    def file_name(self) -> str:
        """Its file in the cache, such as `delta-storage-4.4.0.jar`."""
        return f"{'-'.join(filter(None, (self.name, self.revision, self.classifier)))}.jar"

    @property
    def coordinates(self) -> str:
        """How Maven spells it: `organisation:name:revision`, and the classifier behind."""
        return ":".join(filter(None, (self.organisation, self.name, self.revision, self.classifier)))


@dataclass(frozen=True, slots=True)
class JarSet:
    """A named set: `core` (Delta, Kafka, the driver of PostgreSQL) for every session.

    `s3`, `azure` and `gcs` are for those that read or write such paths.
    The others are for tests: `kafka-broker`, `hadoop-servers` and `ldap-server` are servers, `byteman` holds threads.
    """

    name: str
    jars: tuple[LockedJar, ...]

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that change with any jar of the set."""
        lines = "\n".join(f"{jar.coordinates} {jar.sha256}" for jar in sorted(self.jars))
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    @property
    def folder_name(self) -> str:
        """Its folder in the cache."""
        return f"{self.name}-{self.digest}"


@cache
def jar_sets() -> dict[str, JarSet]:
    """Returns every locked set by name; read once per process."""
    text = (resources.files("penstock.spark.session.setup") / "jars.lock.json").read_text(encoding="utf-8")
    return {name: JarSet(name, tuple(LockedJar(**jar) for jar in jars)) for name, jars in json.loads(text).items()}


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
