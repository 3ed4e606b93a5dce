"""Runs `penstock` as a person does: in a process of its own, judged by exit code, stdout and stderr."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tests.processes import family, wait_until

_OWN_PROCESS = (sys.executable, "-m", "penstock.cli")

COMMAND = _OWN_PROCESS
"""What runs a command to its end; the fixture `one_process` changes it."""

_TIMEOUT = 600.0
_JAVA = "java"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one command ended; `seconds` is its wall time from process start to exit."""

    arguments: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; anything else there fails the test."""
        try:
            return json.loads(self.stdout)
        except json.JSONDecodeError as error:
            raise AssertionError(f"stdout is not one JSON document\n{self}") from error

    @property
    def lines(self) -> list[Any]:
        """The JSON documents on stdout, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The errors of `--json`: `{condition, message, fix, dataset, file, line}`."""
        return list(self.document.get("errors", []))

    @property
    def conditions(self) -> list[str]:
        """The conditions of `errors`."""
        return [error["condition"] for error in self.errors]

    def error(self, condition: str) -> dict[str, Any]:
        """Returns the one error with this condition."""
        found = [error for error in self.errors if error["condition"] == condition]
        assert len(found) == 1, f"{condition} expected once, got {self.conditions}\n{self}"
        return found[0]

    def expect(self, exit_code: int) -> Outcome:
        """Returns itself when the exit code is this one, and shows what the command said when not."""
        assert self.exit_code == exit_code, f"exit code {exit_code} expected\n{self}"
        return self

    def __str__(self) -> str:
        said = f"penstock {' '.join(self.arguments)} -> {self.exit_code} after {self.seconds:.1f} s"
        return f"{said}\n--- stdout\n{self.stdout[-4000:]}\n--- stderr\n{self.stderr[-6000:]}"


def penstock(
    *arguments: object, cwd: Path | None = None, environ: Mapping[str, str] | None = None, timeout: float = _TIMEOUT
) -> Outcome:
    """Runs a command to its end; one that takes longer than `timeout` seconds is killed with its JVM."""
    with _started(COMMAND, arguments, cwd, environ) as command:
        return command.wait(timeout)


def own_process(
    *arguments: object, cwd: Path | None = None, environ: Mapping[str, str] | None = None, timeout: float = _TIMEOUT
) -> Outcome:
    """Runs a command to its end in a process of its own, whatever the others have."""
    with running(*arguments, cwd=cwd, environ=environ) as command:
        return command.wait(timeout)


class Running:
    """A command that is still running."""

    def __init__(self, process: subprocess.Popen[str], arguments: tuple[str, ...]) -> None:
        self.process = process
        self.arguments = arguments
        self._started = time.monotonic()

    @property
    def pid(self) -> int:
        """The process id of Python, the JVM's parent."""
        return self.process.pid

    def jvm(self, timeout: float = 60.0) -> psutil.Process:
        """Returns the Spark JVM below the command, waiting for it to start."""
        found: list[psutil.Process] = []

        def look() -> bool:
            assert self.process.poll() is None, f"the command ended early\n{self.wait(1)}"
            found[:] = [each for each in family(self.pid) if _name(each) == _JAVA and _children(each) == []]
            return len(found) == 1

        wait_until(look, timeout=timeout, what="the JVM of the command")
        return found[0]

    def wait_for(self, ready: Callable[[], bool], *, what: str, timeout: float = 120.0) -> None:
        """Waits until `ready` returns true while the command runs; a command that ends before fails the test."""

        def look() -> bool:
            done = ready()
            assert done or self.process.poll() is None, f"ended before {what}\n{self.wait(1)}"
            return done

        wait_until(look, timeout=timeout, what=what)

    def signal(self, number: signal.Signals) -> None:
        """Sends the signal to Python only, not to its JVM."""
        os.kill(self.pid, number)

    def wait(self, timeout: float = _TIMEOUT) -> Outcome:
        """Waits for the end and returns what the command said."""
        try:
            stdout, stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(self.process)
            stdout, stderr = self.process.communicate(timeout=10)
            stderr += f"\n(killed by the test after {timeout:.0f} s)"
        return Outcome(self.arguments, self.process.returncode, stdout, stderr, time.monotonic() - self._started)


@contextmanager
def running(*arguments: object, cwd: Path | None = None, environ: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Starts a command in a process of its own, which is gone at the end of the block with its JVM."""
    with _started(_OWN_PROCESS, arguments, cwd, environ) as command:
        yield command


@contextmanager
def _started(
    program: Sequence[str], arguments: Sequence[object], cwd: Path | None, environ: Mapping[str, str] | None
) -> Iterator[Running]:
    given = tuple(str(argument) for argument in arguments)
    process = subprocess.Popen(
        [*program, *given],
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Running(process, given)
    finally:
        _kill(process)
        with suppress(subprocess.TimeoutExpired, ValueError):
            process.communicate(timeout=10)


def _kill(process: subprocess.Popen[str]) -> None:
    for member in family(process.pid):  # the JVM is in a process group of its own
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return str(process.name())
    return ""


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [child for child in process.children() if _name(child) == _JAVA]
    return []
