"""kill -9 of a run that is at work: of Python, of its JVM, or of both."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Final

import psutil
from tests.cli_runner import Running
from tests.processes import wait_until

VICTIMS: Final = ("Python", "JVM", "both")


def updates(storage: Path) -> list[Path]:
    """Returns the parts of the storage's event log."""
    return sorted((storage / "events").glob("*.jsonl"))


def wait_for_event(said: str, command: Running, storage: Path, earlier: list[Path], *, times: int = 1) -> None:
    """Waits until the run has said this so often in its event log, whose `earlier` parts do not count.

    So the run is beyond the start of its JVM, which would be started anew if it died before.
    """
    command.wait_for(
        lambda: sum(each.read_text().count(said) for each in updates(storage) if each not in earlier) >= times,
        what=said,
        timeout=300,
    )


def kill(command: Running, victim: str) -> None:
    """Kills and waits for the end of both: Python says so when its JVM has died, a JVM without Python just ends."""
    jvm = command.jvm() if victim != "Python" else None
    if jvm is not None:
        jvm.kill()
    if victim == "JVM":
        command.wait(60).expect(1)
        return
    rest = [] if victim == "both" else _children(command)
    command.signal(signal.SIGKILL)
    assert command.wait(60).exit_code == -signal.SIGKILL
    wait_until(lambda: not any(map(_runs, rest)), timeout=30, what="the JVM to end with its Python")


def _children(command: Running) -> list[psutil.Process]:
    return psutil.Process(command.pid).children(recursive=True)


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
