"""What a run uses of its machine: its processes, and the disk under its storage."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.storage.filesystem import Storage
from penstock.storage.jvm_counters import JvmMemory, jvm_memory
from penstock.storage.local_disk import local_path
from penstock.storage.lock import LockHolder
from penstock.storage.process import machine

_OUTPUTS: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to which a process writes its standard output or error; `size` in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class ProcessResources:
    """What one process takes.

    Attributes:
        pid: its id.
        name: its program, such as `python3` or `java`.
        descriptors: open file descriptors, sockets included.
        descriptor_limit: how many it may have; None without a limit, or where the system does not report it.
        threads: how many it has.
        logs: what its output goes to, where that is a file.
        memory: of a JVM, its heap and garbage collection.
    """

    pid: int
    name: str
    descriptors: int
    descriptor_limit: int | None
    threads: int
    logs: tuple[LogFile, ...] = ()
    memory: JvmMemory | None = None


def resources_of_run(holder: LockHolder | None) -> tuple[ProcessResources, ...]:
    """Returns what the holder of a storage's lock takes, then its JVM and the other processes below it.

    Nothing of a holder that is gone, that runs on another machine, or whose user keeps it from being inspected.
    """
    if holder is None or holder.machine != machine() or not holder.alive():
        return ()
    import psutil

    found = []
    with suppress(psutil.Error):
        run = psutil.Process(holder.owner.pid)
        for process in (run, *run.children(recursive=True)):
            with suppress(psutil.Error):  # it has ended meanwhile
                found.append(
                    ProcessResources(
                        process.pid,
                        process.name(),
                        process.num_fds(),
                        _descriptor_limit(process.pid),
                        process.num_threads(),
                        _logs(process.pid),
                        jvm_memory(process.pid),
                    )
                )
    return tuple(found)


def _descriptor_limit(pid: int) -> int | None:
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, prlimit
    except ImportError:  # only Linux reports on another process
        return None
    try:
        limit, _ = prlimit(pid, RLIMIT_NOFILE)
    except OSError:
        return None
    return None if limit == RLIM_INFINITY else limit


def _logs(pid: int) -> tuple[LogFile, ...]:
    found: dict[tuple[int, int], LogFile] = {}
    for number in _OUTPUTS:
        link = f"/proc/{pid}/fd/{number}"
        with suppress(OSError):  # closed, or not Linux
            state = os.stat(link)
            if stat.S_ISREG(state.st_mode):
                found[state.st_dev, state.st_ino] = LogFile(os.readlink(link), state.st_size)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Bytes of a disk: those that are free for this user, and all."""

    free: int
    total: int


def disk_space(storage: Storage) -> DiskSpace | None:
    """Returns the space of the disk where the storage is or will be; None for one that is not on a local disk."""
    if not storage.is_local:
        return None
    place = Path(local_path(storage.uri))
    exists = next((each for each in (place, *place.parents) if each.exists()), None)
    if exists is None:
        return None
    try:
        used = shutil.disk_usage(exists)
    except OSError:
        return None
    return DiskSpace(used.free, used.total)
