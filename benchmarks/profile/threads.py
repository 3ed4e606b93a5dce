"""Processor time of a process tree by what its threads do: the JVM names those of its compilers and collectors."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil

PYTHON = "Python"
JAVA = "Java methods"
_KINDS = (
    ("JIT compiler C1", ("C1 Compiler",)),
    ("JIT compiler C2", ("C2 Compiler",)),
    ("garbage collector", ("GC Thread", "G1 ", "Parallel", "Concurrent Mark")),
    ("JVM, its own threads", ("java", "VM ", "JFR ", "Service Thread", "Monitor Defl", "Signal ")),
)
_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY = 0.1


class ThreadTimes:
    """Within the block, looks at the threads of all processes below this one ten times a second; Linux only."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[str, float]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ThreadTimes:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def by_kind(self) -> Mapping[str, float]:
        """Returns the seconds of each kind: `PYTHON`, `JAVA`, and the JVM's own."""
        seconds: dict[str, float] = defaultdict(float)
        for kind, used in list(self._seen.values()):  # which grows meanwhile
            seconds[kind] += used
        return seconds

    def _watch(self) -> None:
        while not self._over.wait(_EVERY):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, OSError):
                    is_java = process.name() == "java"
                    for thread, name, used in _threads(process.pid):
                        self._seen[process.pid, thread] = (_kind(name) if is_java else PYTHON, used)


def _threads(pid: int) -> Iterator[tuple[int, str, float]]:
    for folder in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            name, _, numbers = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            user, system = numbers.split()[11:13]
            yield int(folder.name), name, (int(user) + int(system)) / _TICKS


def _kind(name: str) -> str:
    return next((kind for kind, starts in _KINDS if name.startswith(starts)), JAVA)
