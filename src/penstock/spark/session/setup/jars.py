"""The jars of a set, on this machine: cached once per user, checked by sha256, offline afterwards.

Beside the folder of a set is a file with what each jar looked like when its sha256 was checked: size and times. A start
compares these, and reads a jar again only if they differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from penstock.errors import ExternalError
from penstock.spark.session.setup import ivy
from penstock.spark.session.setup.cache import (
    Progress,
    cache_directory,
    cache_path,
    one_process_at_a_time,
    writable_folder,
)
from penstock.spark.session.setup.java import Java, find_java
from penstock.spark.session.setup.known_jars import JarSet, LockedJar, jar_sets

_WITH_OPTION = frozenset({"s3", "azure", "gcs"})  # of `penstock setup`


def ensure_jars(
    name: str,
    *,
    java: Java | None = None,
    environ: Mapping[str, str] = os.environ,
    progress: Progress | None = None,
    repair: bool = False,
) -> list[Path]:
    """Returns the paths of the jars of the set `name`, sorted, after fetching them if they are not cached.

    `progress` gets a line of text per step, and nothing when the set is cached. Two processes may call this at once:
    one fetches, the other waits. With `repair`, for `penstock setup`, every byte of a cached set is read, and the set
    fetched again if one is wrong.

    Raises:
        KeyError: no such set.
        ConfigError: JAVA_*, CACHE_NOT_WRITABLE or MAVEN_MIRROR_INVALID.
        ExternalError: JARS_DOWNLOAD_FAILED, JARS_CHECKSUM_MISMATCH or JARS_ALTERED.
    """
    jars = jar_sets()[name]
    report = progress or (lambda _line: None)
    folder = _folder(jars, environ)

    def is_needed() -> bool:
        return not _is_there(jars, folder) or (repair and bool(_damaged(jars, folder)))

    if is_needed():  # else a cache that this user may only read will do, as in an image
        parent = writable_folder(cache_directory(environ) / "jars")
        lock = parent / f".{jars.folder_name}.lock"
        with one_process_at_a_time(lock, waiting=lambda: report("Waiting for another process that fetches the jars")):
            if is_needed():
                _fetch(jars, folder, java or find_java(environ), environ, report)
    _check_unchanged(jars, folder)
    return sorted(folder / jar.file_name for jar in jars.jars)


def jars_cached(name: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    """Returns whether `ensure_jars` has nothing to fetch for the set `name`."""
    jars = jar_sets()[name]
    return _is_there(jars, _folder(jars, environ))


def altered_jars(*, environ: Mapping[str, str] = os.environ) -> list[ExternalError]:
    """Returns JARS_ALTERED for each jar of all cached sets whose sha256 is wrong; reads every byte, changes nothing."""
    return [
        _altered(jars, path, jar)
        for jars in jar_sets().values()
        for jar in _damaged(jars, _folder(jars, environ))
        if (path := _folder(jars, environ) / jar.file_name).is_file()
    ]


def _folder(jars: JarSet, environ: Mapping[str, str]) -> Path:
    return cache_path(environ) / "jars" / jars.folder_name


def _is_there(jars: JarSet, folder: Path) -> bool:
    return all((folder / jar.file_name).is_file() for jar in jars.jars)


def _damaged(jars: JarSet, folder: Path) -> list[LockedJar]:
    files = [(jar, folder / jar.file_name) for jar in jars.jars]
    return [jar for jar, file in files if not file.is_file() or _sha256(file) != jar.sha256]


def _check_unchanged(jars: JarSet, folder: Path) -> None:
    """Raises JARS_ALTERED for a jar that is not the locked one; 23 MB of sha256 at every start would be too much."""
    checked = folder.with_name(f"{folder.name}.checked.json")
    looks = {jar.file_name: _look(folder / jar.file_name) for jar in jars.jars}
    try:
        known = json.loads(checked.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if known == looks:
        return
    for jar in jars.jars:
        path = folder / jar.file_name
        if _sha256(path) != jar.sha256:
            raise _altered(jars, path, jar)
    with suppress(OSError):  # a cache that this user may only read
        unfinished = checked.with_name(f".{checked.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(looks), encoding="utf-8")
        unfinished.rename(checked)


def _look(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]  # the last one cannot be set


def _altered(jars: JarSet, path: Path, jar: LockedJar) -> ExternalError:
    option = f" --{jars.name}" if jars.name in _WITH_OPTION else ""
    command = f"penstock setup{option}"
    return ExternalError("JARS_ALTERED", path=path, expected=jar.sha256, actual=_sha256(path), command=command)


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
