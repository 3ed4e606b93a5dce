"""How the process of a command ends."""

from __future__ import annotations

import os
import subprocess
import sys


def run(program: str) -> subprocess.CompletedProcess[str]:
    start = "import atexit, sys, threading; from penstock.cli.stopping import end_quickly; "
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", start + program]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_output_is_flushed_and_what_registered_for_the_end_is_called() -> None:
    done = run("atexit.register(print, 'end'); sys.stdout.write('before '); end_quickly(3); print('after')")
    assert (done.returncode, done.stdout, done.stderr) == (3, "before end\n", "")


def test_a_thread_that_works_is_waited_for() -> None:
    done = run("threading.Timer(0.2, print, ['worked']).start(); end_quickly(3); print('returned')")
    assert (done.returncode, done.stdout) == (0, "returned\nworked\n")


def test_output_that_cannot_be_written_is_left_to_python() -> None:
    done = run("sys.stdout = open('/dev/full', 'w'); sys.stdout.write('x'); end_quickly(0)")
    assert done.returncode == 120  # Python's own code for output that it could not flush
