"""Everything that a first start would have to fetch or compute, now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.spark.setup.cache import Progress, cache_directory
from penstock.spark.setup.class_archive import archive_path, ensure_archive
from penstock.spark.setup.class_path import spark_class_path
from penstock.spark.setup.jars import ensure_jars
from penstock.spark.setup.java import find_java


@dataclass(frozen=True, slots=True)
class Ready:
    """What the sessions of this user will run on."""

    java: str
    java_version: str
    java_origin: str
    cache: str
    jars: int
    class_archive: bool

    def to_json(self) -> dict[str, object]:
        """Returns the fields, as `penstock setup --json` prints them."""
        return asdict(self)

    def __str__(self) -> str:
        quick = "with" if self.class_archive else "without"
        return (
            f"Ready: Java {self.java_version} from {self.java_origin} ({self.java}), "
            f"{self.jars} jars in {self.cache}, {quick} a class archive."
        )


def prefetch(progress: Progress | None = None, *, environ: Mapping[str, str] = os.environ) -> Ready:
    """Finds Java, fetches the jars and makes the class archive; quick when that has been done before.

    Called by `penstock setup`; a session does the first two by itself and the third after its first run.
    `progress` gets one line of text per step.

    Raises:
        ConfigError: as `find_java` and `cache_directory`.
        ExternalError: as `ensure_jars`.
    """
    report = progress or (lambda _line: None)
    cache = cache_directory(environ)
    java = find_java(environ)
    jars = ensure_jars("core", java=java, environ=environ, progress=report)
    archive = archive_path(java, spark_class_path(jars), environ)
    made = ensure_archive(archive, environ=environ, progress=report)
    return Ready(str(java.executable), java.version, java.origin.value, str(cache), len(jars), made)
