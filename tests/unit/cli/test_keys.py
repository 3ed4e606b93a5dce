"""Single keys from a terminal, which is left as it was."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import time

from penstock.cli.screen.keys import key_presses

_READ = """\
from penstock.cli.screen.keys import key_presses
with key_presses() as wait:
    print("ready", flush=True)
    print("key", wait(20), flush=True)
"""


def test_a_key_needs_no_enter_and_the_terminal_is_as_before() -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    # The program is in the foreground of the terminal, as one that a shell starts.
    start = f"import os, pty; os.login_tty(0); exec({_READ!r})"
    process = subprocess.Popen([sys.executable, "-c", start], stdin=theirs, stdout=theirs, start_new_session=True)
    try:
        read = b""
        while b"ready" not in read:
            read += os.read(ours, 100)
        os.write(ours, b"q")
        while b"key q" not in read:
            read += os.read(ours, 100)
        assert process.wait(20) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.wait()


def test_without_a_terminal_it_only_waits() -> None:
    with key_presses() as wait:  # pytest has no terminal on its standard input
        started = time.monotonic()
        assert wait(0.05) is None
        assert time.monotonic() - started >= 0.05
