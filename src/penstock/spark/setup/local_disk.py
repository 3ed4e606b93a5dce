"""Penstock's own Java classes: files and Delta's log on a local disk, without what makes Hadoop's and Delta's slow.

Their source is in `java/`; `make java` compiles it into the jar beside this module. Only sessions with a local master
get it, at the end of their class path: there a class archive, made without it, holds all the same.
"""

from __future__ import annotations

from pathlib import Path

JAR = Path(__file__).with_name("local-disk.jar")
FILE_SYSTEM = "penstock.localdisk.LocalDiskFileSystem"
LOG_STORE = "penstock.localdisk.LocalDiskLogStore"


def local_disk_jars() -> list[Path]:
    """Returns the jar in a list; an empty one if it is missing: everything works without it, as slowly as before."""
    return [JAR] if JAR.is_file() else []
