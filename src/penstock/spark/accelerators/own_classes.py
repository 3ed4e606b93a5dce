"""Penstock's own Java classes: where Hadoop, Spark and Delta take a class by a setting, and theirs is slow.

Their source is in `java/`; `make java` compiles it into the jar beside this module. It is the end of the class path: a
class archive, made without it, holds all the same.
"""

from __future__ import annotations

from pathlib import Path

JAR = Path(__file__).with_name("own-classes.jar")
FILE_SYSTEM = "penstock.localdisk.LocalDiskFileSystem"
LOG_STORE = "penstock.localdisk.LocalDiskLogStore"
OBJECT_LOG_STORE = "penstock.objectstore.ConditionalLogStore"
DELTA_SINK = "penstock.delta.DeltaSinkProvider"
ARRIVING_FILES = "penstock.files.ArrivingFilesProvider"


def own_jars() -> list[Path]:
    """Returns the jar in a list; an empty one if it is missing: everything works without it, only slower."""
    return [JAR] if JAR.is_file() else []
