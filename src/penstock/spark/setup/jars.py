"""The jars of a set, on this machine: cached once per user, checked by sha256, offline afterwards."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import ExternalError
from penstock.spark.setup import ivy
from penstock.spark.setup.cache import Progress, cache_directory, one_process_at_a_time, writable_folder
from penstock.spark.setup.jar_lock import JarSet, LockedJar, jar_sets
from penstock.spark.setup.java import Java, find_java


def ensure_jars(
    name: str,
    *,
    java: Java | None = None,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
) -> list[Path]:
    """Returns the paths of the jars of the set `name`, sorted, after fetching them if they are not cached.

    `progress` gets a line of text per step, and nothing when the set is cached. Two processes may call this at once:
    one fetches, the other waits. A set is either complete and verified in the cache, or not there.

    Raises:
        KeyError: no such set.
        ConfigError: JAVA_*, CACHE_NOT_WRITABLE or MAVEN_MIRROR_INVALID.
        ExternalError: JARS_DOWNLOAD_FAILED or JARS_CHECKSUM_MISMATCH.
    """
    jars = jar_sets()[name]
    report = progress or _nobody
    parent = cache_directory(environ) / "jars"
    folder = parent / jars.folder_name
    if not _complete(jars, folder):
        writable_folder(parent)
        lock = parent / f".{jars.folder_name}.lock"
        with one_process_at_a_time(lock, waiting=lambda: report("Waiting for another process that fetches the jars")):
            if not _complete(jars, folder):
                _fetch(jars, folder, java or find_java(environ), environ, report)
    return sorted(folder / jar.file_name for jar in jars.jars)


def jars_cached(name: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Tells whether `ensure_jars` has nothing to fetch for the set `name`.

    Raises:
        ConfigError: CACHE_NOT_WRITABLE.
    """
    jars = jar_sets()[name]
    return _complete(jars, cache_directory(environ) / "jars" / jars.folder_name)


def damaged_jars(name: str, *, environ: Mapping[str, str] = os.environ) -> list[LockedJar]:
    """Returns the jars of the cached set `name` that are missing or whose sha256 is wrong; reads every byte."""
    jars = jar_sets()[name]
    folder = cache_directory(environ) / "jars" / jars.folder_name
    return [
        jar
        for jar in jars.jars
        if not (folder / jar.file_name).is_file() or _sha256(folder / jar.file_name) != jar.sha256
    ]


def _complete(jars: JarSet, folder: Path) -> bool:
    # Sizes only: the digests were checked when the folder was made, and 23 MB of sha256 would be paid at every start.
    try:
        return all((folder / jar.file_name).stat().st_size == jar.size for jar in jars.jars)
    except OSError:
        return False


def _fetch(jars: JarSet, folder: Path, java: Java, environ: Mapping[str, str], report: Progress) -> None:
    megabytes = sum(jar.size for jar in jars.jars) / 1_000_000
    report(f"Fetching the {jars.name} jars, once for this user ({len(jars.jars)} files, {megabytes:.0f} MB)")
    with tempfile.TemporaryDirectory(prefix=f".{jars.folder_name}.", dir=folder.parent) as temporary:
        scratch = Path(temporary)
        fetched = scratch / "jars"
        fetched.mkdir()
        ivy.retrieve(jars.jars, fetched, scratch=scratch, java=java, environ=environ, progress=report)
        report("Checking the sha256 of each jar")
        for jar in jars.jars:
            actual = _sha256(fetched / jar.file_name)
            if actual != jar.sha256:
                raise ExternalError(
                    "JARS_CHECKSUM_MISMATCH", artifact=jar.coordinates, expected=jar.sha256, actual=actual
                )
        if folder.exists():  # an earlier set that lost a file
            shutil.rmtree(folder)
        fetched.rename(folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _nobody(_line: str) -> None:
    """Progress that nobody asked for."""
