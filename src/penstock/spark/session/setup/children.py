"""The Java processes that this process has started and that shall not outlive it."""

from __future__ import annotations

import subprocess
from typing import Any

_children: list[subprocess.Popen[Any]] = []


def ends_with_us(process: subprocess.Popen[Any]) -> None:
    """Remembers a process for `kill_children`."""
    _children[:] = [*(each for each in _children if each.returncode is None), process]


def kill_children() -> None:
    """Kills them, also one that was stopped, and does not wait; every call that waits for them fails. Opens no file."""
    for process in _children:
        process.kill()
