"""Is the process that wrote a lock still the one it was? Read from the operating system, never guessed."""

from __future__ import annotations

import os
import platform
import socket
from functools import cache


@cache
def machine() -> str:
    """Returns what distinguishes two sets of process ids: host name, boot and pid namespace.

    Two containers may share a host name, and a restarted host keeps its own; in both cases a pid
    of the one means nothing to the other.
    """
    parts = [socket.gethostname()]
    if platform.system() == "Linux":
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                parts.append(file.read().strip())
            parts.append(os.readlink("/proc/self/ns/pid"))
        except OSError:
            pass  # a hardened container hides them; the host name has to do
    return "/".join(parts)


def birth_mark(pid: int) -> str | None:
    """Returns a text that only this life of `pid` has, or None when no such process lives.

    A stopped (SIGSTOP) process lives; a zombie does not. Pids are reused, births are not.
    """
    if platform.system() == "Linux":
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        state, start_ticks = fields[0], fields[19]
        return None if state in {"Z", "X", "x"} else start_ticks
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        return ""
