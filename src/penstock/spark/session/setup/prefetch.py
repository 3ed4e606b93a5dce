"""Everything that a first start would have to fetch or compute, now."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.spark.session.setup.cache import Progress, cache_directory
from penstock.spark.session.setup.class_archive import archive_path, ensure_archive
from penstock.spark.session.setup.jars import ensure_jars
from penstock.spark.session.setup.java import Java, find_java
from penstock.spark.session.setup.known_jars import spark_class_path


@dataclass(frozen=True, slots=True)
class Ready:
    """What the sessions of this user run on."""

    java: Java
    jars: tuple[Path, ...]
    cache: Path
    class_archive: bool

    def to_json(self) -> dict[str, object]:
        """Returns `{java: {version, path, from}, jars: [paths], cache, class_archive}`."""
        return {
            "java": {"version": self.java.version, "path": str(self.java.executable), "from": self.java.origin.value},
            "jars": [str(jar) for jar in self.jars],
            "cache": str(self.cache),
            "class_archive": self.class_archive,
        }


def prefetch(
    progress: Progress | None = None, *, jar_sets: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Ready:
    """Finds Java, fetches the jars and makes the class archive; when that has been done before, checks every jar.

    Called by `penstock setup`; a session does the first two by itself and the third after its first run.
    `progress` gets one line of text per step; `jar_sets` names further locked sets to fetch.

    Raises:
        ConfigError: as `find_java` and `cache_directory`.
        ExternalError: as `ensure_jars`.
    """
    report = progress or (lambda _line: None)
    cache = cache_directory(environ)
    java = find_java(environ)
    jars = ensure_jars("core", java=java, environ=environ, progress=report, repair=True)
    archive = archive_path(java, spark_class_path(jars), environ)
    made = ensure_archive(archive, java, environ=environ, progress=report)
    for name in jar_sets:
        jars += ensure_jars(name, java=java, environ=environ, progress=report, repair=True)
    return Ready(java, tuple(jars), cache, made)
