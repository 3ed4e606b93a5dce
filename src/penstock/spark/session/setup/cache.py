"""Where Penstock keeps what it fetched or computed once per user: jars, the class archive, driver logs."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import ConfigError

Progress = Callable[[str], None]


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns `$PENSTOCK_CACHE`, else `penstock` in the user's cache folder; created when missing.

    Raises:
        ConfigError: CACHE_NOT_WRITABLE when the folder cannot be created or written.
    """
    return writable_folder(cache_path(environ))


def cache_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder of `cache_directory`, there or not."""
    chosen = environ.get("PENSTOCK_CACHE")
    shared = environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    cache = Path(chosen).expanduser() if chosen else Path(shared) / "penstock"
    return cache.absolute()


def writable_folder(folder: Path) -> Path:
    """Returns `folder` after creating it; raises ConfigError CACHE_NOT_WRITABLE when that fails."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # jars in it run with this user's rights
    except OSError as error:
        raise ConfigError("CACHE_NOT_WRITABLE", path=folder, reason=error.strerror or type(error).__name__) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError("CACHE_NOT_WRITABLE", path=folder, reason="Permission denied")
    return folder


def log_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder for logs of drivers: in the cache, or if that is only readable a new one for this process."""
    try:
        return writable_folder(cache_directory(environ) / "logs")
    except ConfigError:
        return Path(tempfile.mkdtemp(prefix="penstock-logs-"))


@contextmanager
def one_process_at_a_time(lock: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock file `lock`; calls `waiting` once when another process has it.

    The operating system frees the lock when its holder dies, so a crash never blocks the next run.
    """
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
