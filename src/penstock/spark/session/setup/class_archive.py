"""A class archive: Spark's classes as the JVM keeps them in memory, so that a start need not parse them again.

It halves the processor time of a start. It is made once per Java and set of jars, by a short run of the engine in a
process of its own, and it is never needed: without it, or with a damaged one, the JVM loads the classes from the jars.
It stands upon an archive of Java's own classes. A runtime that was made by jlink, as the bundled one, has none; then it
is made here, too ("Class Data Sharing" in Java's documentation).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.spark.session.setup.cache import Progress, cache_path, one_process_at_a_time
from penstock.spark.session.setup.java import Java

SWITCH = "PENSTOCK_CLASS_ARCHIVE"  # "off" neither makes nor uses one
_TRAINING = "penstock.spark.session.class_archive_training"
_MAX_ARCHIVES = 4  # one for each environment that has Penstock; with fewer than are in turn in use, each run makes one
_SECONDS = 600
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
_started: list[subprocess.Popen[bytes]] = []  # kept, or Python would warn that it was not waited for


def archive_path(java: Java, class_path: Sequence[Path], environ: Mapping[str, str] = os.environ) -> Path:
    """Returns where the archive for exactly this Java and these jars is, or would be."""
    files = [java.executable.resolve(), *class_path]
    # Java compares size and time of each jar, and refuses the archive when one differs; so does this name. Seconds: the
    # layers of an image have no more.
    seen = [f"{file} {status.st_size} {int(status.st_mtime)}" for file in files for status in [file.stat()]]
    digest = hashlib.sha256("\n".join([java.version, *seen]).encode()).hexdigest()[:16]
    return cache_path(environ) / "class-archives" / f"{java.major}-{digest}.jsa"


def options_to_use(archive: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Returns the JVM options that use `archive`; none when it is missing or switched off."""
    if environ.get(SWITCH) == "off" or not is_whole(archive):
        return []
    with suppress(OSError):  # the cache may be another user's
        _size_file(archive).touch()
    # Anything wrong with the archive is a reason to do without it, not to fail.
    below = f"{_base(archive)}{os.pathsep}" if _base(archive).exists() else ""
    return [f"-XX:SharedArchiveFile={below}{archive}", "-Xshare:auto", *_QUIET]


def is_whole(archive: Path) -> bool:
    """Returns whether `archive` is there with the size that it had when it was made; a torn one would crash Java."""
    try:
        return _sizes(archive) == _size_file(archive).read_text(encoding="ascii")
    except (OSError, ValueError):
        return False


def options_to_record(archive: Path) -> list[str]:
    """Returns the JVM options that write `archive` when the JVM exits."""
    below = [f"-XX:SharedArchiveFile={_base(archive)}"] if _base(archive).exists() else []
    return [*below, f"-XX:ArchiveClassesAtExit={archive}", *_QUIET]


def ensure_archive(archive: Path, java: Java, *, environ: Mapping[str, str] = os.environ, progress: Progress) -> bool:
    """Makes `archive` if it is missing; returns whether it is there afterwards. Takes about half a minute.

    Never raises for an archive that cannot be made: the reason is in the file beside it that ends in `.log`.
    """
    if environ.get(SWITCH) == "off":
        return False
    with suppress(OSError):
        archive.parent.mkdir(parents=True, exist_ok=True)
        lock = archive.with_suffix(".lock")
        with one_process_at_a_time(lock, waiting=lambda: progress("Waiting for another process that prepares Java")):
            if not is_whole(archive):
                progress("Preparing Java for a quicker start (once, about half a minute)")
                _make(archive, java, environ)
    return is_whole(archive)


def make_in_background(archive: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Starts a process of low priority that makes `archive`, unless that is switched off or has been tried."""
    if environ.get(SWITCH) == "off" or is_whole(archive) or archive.with_suffix(".log").exists():
        return
    program = "import os; os.nice(19); from penstock.spark.session.setup import prefetch; prefetch()"
    with suppress(OSError):
        _started.append(
            subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environ),
                start_new_session=True,
            )
        )


def _make(archive: Path, java: Java, environ: Mapping[str, str]) -> None:
    unfinished = archive.with_suffix(f".{os.getpid()}")
    log = archive.with_suffix(".log")
    with log.open("wb") as output:

        def written(*command: str | Path) -> bool:
            """Runs a program that writes `unfinished`; what it prints is in the log."""
            with suppress(subprocess.TimeoutExpired):
                result = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**environ, SWITCH: "off"},
                    timeout=_SECONDS,
                    check=False,
                )
                return result.returncode == 0 and unfinished.is_file()
            return False

        own = java.home / "lib" / "server" / "classes.jsa"
        if not own.exists() and written(java.executable, "-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}"):
            unfinished.rename(_base(archive))
        if written(sys.executable, "-m", _TRAINING, unfinished):
            unfinished.rename(archive)
            _size_file(archive).write_text(_sizes(archive), encoding="ascii")
            log.unlink(missing_ok=True)
            _remove_old(archive.parent)
    unfinished.unlink(missing_ok=True)


def _remove_old(folder: Path) -> None:
    # About 200 MB each, and useless after the next upgrade of Java, Spark or Penstock.
    used = sorted(folder.glob("*.size"), key=lambda size: size.stat().st_mtime, reverse=True)
    for size in used[_MAX_ARCHIVES:]:
        archive = size.with_suffix(".jsa")
        for file in (size, _base(archive), archive):
            file.unlink(missing_ok=True)


def _size_file(archive: Path) -> Path:
    return archive.with_suffix(".size")


def _base(archive: Path) -> Path:
    """The archive of Java's own classes, where Java came without one."""
    return archive.with_suffix(".base")


def _sizes(archive: Path) -> str:
    return " ".join(str(file.stat().st_size) for file in (archive, _base(archive)) if file is archive or file.exists())
