"""Times commands with and without a dev session, in pairs: `python -m benchmarks.startup.beside_dev FOLDER [PAIRS]`.

FOLDER is a project made by `penstock init`. Prints medians: seconds of wall time and of processor time, that of the
session and its Java included.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.commands import PENSTOCK
from penstock.cli.dev_session.place import connect

_COMMANDS = (("validate",), ("plan",), ("sql", "SELECT 1"))


def processor_seconds(session: psutil.Process) -> float:
    """Returns what the commands that have ended and the session have taken so far."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [each.cpu_times() for each in (session, *session.children(recursive=True))]
    return ended.ru_utime + ended.ru_stime + sum(each.user + each.system for each in running)


folder, pairs = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 7
os.chdir(folder)
with subprocess.Popen([*PENSTOCK, "dev"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as dev:
    while (waiting := connect(folder)) is None:
        assert dev.poll() is None
        time.sleep(0.2)
    waiting.close()
    session = psutil.Process(dev.pid)
    for command in _COMMANDS:
        taken: dict[str, list[tuple[float, float]]] = {"": [], "--no-session": []}
        for _ in range(pairs + 1):
            for option, times in taken.items():
                started, before = time.monotonic(), processor_seconds(session)
                words = [*PENSTOCK, *command, *filter(None, [option])]
                subprocess.run(words, check=True, capture_output=True)
                times.append((time.monotonic() - started, processor_seconds(session) - before))
        for option, times in taken.items():
            wall, processor = (statistics.median(each[part] for each in times[1:]) for part in (0, 1))
            spread = f"{min(times[1:])[0]:.2f} to {max(times[1:])[0]:.2f}"
            print(f"{' '.join([*command, option]):24} {wall:.2f} s ({spread}), processor {processor:.2f} s", flush=True)
    dev.terminate()
