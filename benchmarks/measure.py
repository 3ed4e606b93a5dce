"""One program, measured from the outside: wall time from process start to exit, memory and CPU of its whole tree."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SAMPLES_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Measurement:
    """`peak_memory_mb` is the largest sum of resident memory over the process tree, sampled ten times a second;
    `peak_jvm_mb` the largest of its Java processes alone. `cpu_seconds` is user and system time of all of them."""

    seconds: float
    exit_code: int
    peak_memory_mb: float
    peak_jvm_mb: float
    cpu_seconds: float


class ProgramFailedError(RuntimeError):
    """The measured program failed; the message ends with its last lines."""


def measure(
    command: Sequence[str],
    *,
    cwd: Path,
    log: Path,
    environ: Mapping[str, str] | None = None,
    timeout: float = 1800.0,
    expected_exit: int = 0,
) -> Measurement:
    """Runs the command to its end; its output goes to `log`.

    Raises:
        ProgramFailedError: Another exit code than `expected_exit`, or no end within `timeout` seconds.
    """
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        with _Sampler(process.pid) as seen:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                root = psutil.Process(process.pid)
                for member in [*root.children(recursive=True), root]:
                    with suppress(psutil.NoSuchProcess):
                        member.kill()
                process.wait()
                raise ProgramFailedError(f"no end after {timeout:.0f} s\n{_tail(log)}") from None
        seconds = time.monotonic() - started
    if code != expected_exit:
        raise ProgramFailedError(f"exit code {code}\n{_tail(log)}")
    return Measurement(
        round(seconds, 3), code, round(seen.peak, 1), round(seen.peak_jvm, 1), round(sum(seen.cpu_of.values()), 2)
    )


def measure_here(do: Callable[[], object]) -> Measurement:
    """Calls `do`, and measures this process and those below it meanwhile; memory is what they had before, too."""
    started = time.monotonic()
    with _Sampler(os.getpid()) as seen:
        seen.look()
        before = sum(seen.cpu_of.values())
        do()
        seen.look()
    seconds = time.monotonic() - started
    used = sum(seen.cpu_of.values()) - before
    return Measurement(round(seconds, 3), 0, round(seen.peak, 1), round(seen.peak_jvm, 1), round(used, 2))


class _Sampler:
    """Looks at memory and CPU of a process tree until it is told to stop; peaks are in MB, CPU in seconds by pid."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = 0.0
        self.peak_jvm = 0.0
        self.cpu_of: dict[int, float] = {}

    def __enter__(self) -> _Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_SAMPLES_EVERY):
            self.look()

    def look(self) -> None:
        """Takes a sample."""
        total = jvm = 0
        with suppress(psutil.Error):
            root = psutil.Process(self._pid)
            for member in [root, *root.children(recursive=True)]:
                with suppress(psutil.Error):
                    resident = member.memory_info().rss
                    times = member.cpu_times()
                    self.cpu_of[member.pid] = times.user + times.system
                    total += resident
                    jvm = max(jvm, resident if member.name() == "java" else 0)
        self.peak = max(self.peak, total / 1e6)
        self.peak_jvm = max(self.peak_jvm, jvm / 1e6)


def _tail(log: Path, lines: int = 40) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
