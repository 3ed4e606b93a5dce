"""A command: a program of the user's that gets the message as JSON on its standard input."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Final

from penstock.alerts.message import Message, NotDelivered
from penstock.config import Command
from penstock.events import clean

TIMEOUT_SECONDS: Final = 30.0


def run_command(name: str, command: Command, message: Message, *, timeout: float = TIMEOUT_SECONDS) -> None:
    """Runs the program once, without a shell; after `timeout` seconds it is killed with what it started.

    Raises:
        NotDelivered: it could not be started, took too long, or ended with another exit code than 0.
    """
    try:
        process = subprocess.Popen(
            command.run,
            cwd=command.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotDelivered(f"{clean(command.run[0], limit=100)} cannot be run: {reason}", passing=False) from None
    with process:
        try:
            _, said = process.communicate(message.body(), timeout=timeout)
        except BaseException as error:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise NotDelivered(f"it took longer than {timeout:g} s and was ended", passing=True) from None
            raise
    if process.returncode != 0:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        words = f": {clean(last, limit=200)}" if last else ""
        raise NotDelivered(f"it ended with exit code {process.returncode}{words}", passing=True)
