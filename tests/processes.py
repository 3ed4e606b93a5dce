"""Programs that a test starts: free ports, readiness, and an end that reaches every child."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil


class ServerFailedError(RuntimeError):
    """A server that a test started ended, or was not ready in time; the message ends with its last log lines."""


def free_ports(count: int) -> list[int]:
    """Returns `count` different loopback ports that nobody listens on at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def family(pid: int) -> list[psutil.Process]:
    """Returns the process and everything below it; empty when it is gone."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def end_family(pid: int, *, grace: float = 5.0) -> None:
    """Ends the process and everything below it: asks, waits `grace` seconds, then kills."""
    members = family(pid)
    for member in members:
        with suppress(psutil.NoSuchProcess):
            member.send_signal(signal.SIGCONT)  # a stopped process would not see the request to end
            member.terminate()
    _, alive = psutil.wait_procs(members, timeout=grace)
    for member in alive:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(alive, timeout=grace)


PATIENCE: Final = 3.0
"""How many times slower than the builders' a machine may be before a wait is given up; who succeeds does not wait."""


def wait_until(ready: Callable[[], bool], *, timeout: float, what: str, interval: float = 0.1) -> None:
    """Calls `ready` until it returns true.

    Raises:
        TimeoutError: It did not within `timeout` seconds, `PATIENCE` times as long on a slow machine.
    """
    deadline = time.monotonic() + PATIENCE * timeout
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE * timeout:.0f} s for {what}")
        time.sleep(interval)


class Server:
    """A program that runs until it is stopped, with its output in a file."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environ = dict(environ or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; the server must be running."""
        if self._process is None:
            raise ServerFailedError(f"{self.name} is not running")
        return self._process.pid

    def start(self, ready: Callable[[], bool], *, timeout: float = 60.0) -> None:
        """Starts the program and returns once `ready` returns true.

        Raises:
            ServerFailedError: It ended before, or was not ready in time, as for `wait_until`; it is ended then.
        """
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=Path(__file__).parents[1],  # where `python -m tests.…` works, wherever the test is
                env={**os.environ, **self._environ},
            )
        limit = PATIENCE * timeout
        deadline = time.monotonic() + limit
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                code = self._process.poll()
                self.stop()
                state = f"ended with exit code {code}" if code is not None else f"was not ready in {limit:.0f} s"
                raise ServerFailedError(f"{self.name} {state}\n{self.last_lines()}")
            time.sleep(0.1)

    def stop(self, *, grace: float = 10.0) -> None:
        """Ends the program if it runs, and waits until it is gone."""
        if self._process is None:
            return
        end_family(self._process.pid, grace=grace)
        self._process.wait(timeout=grace)
        self._process = None

    def pause(self) -> None:
        """Stops the program's clock (SIGSTOP): connections stay open and nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a paused program go on."""
        os.kill(self.pid, signal.SIGCONT)

    def last_lines(self, count: int = 30) -> str:
        """Returns the end of the program's output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:]) if self.log.exists() else ""


def accepts_connections(port: int) -> bool:
    """Whether something listens on the loopback port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextmanager
def paused(server: Server) -> Iterator[None]:
    """Pauses the server for the length of the block."""
    server.pause()
    try:
        yield
    finally:
        server.resume()
