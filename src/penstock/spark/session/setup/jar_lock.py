"""The locked jar sets: which files Spark gets beside its own, each with its sha256 (`jars.lock.json`)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True, order=True)
class LockedJar:
    """One jar of a Maven repository: its coordinates, `size` in bytes and `sha256` in hexadecimal."""

    organisation: str
    name: str
    revision: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        """Its file in the cache, such as `delta-storage-4.4.0.jar`."""
        return f"{self.name}-{self.revision}.jar"

    @property
    def coordinates(self) -> str:
        """How Maven spells it: `organisation:name:revision`."""
        return f"{self.organisation}:{self.name}:{self.revision}"


@dataclass(frozen=True, slots=True)
class JarSet:
    """A named set: `core` (Delta, Kafka, the driver of PostgreSQL) for every session.

    `s3`, `azure` and `gcs` are for those that read or write such paths.
    The others are for tests: `kafka-broker` is a server, `byteman` holds threads.
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
