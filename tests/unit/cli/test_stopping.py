"""A second signal, or time, ends a process in any state: each in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

START = """
import atexit, os, signal, sys, threading, time
from penstock.cli import stopping
stopping._AT_ONCE_SECONDS = 0.2
def ready(): print("ready", flush=True)
"""
BLOCK = "with stopping.StopRequests(lambda line: print(line, file=sys.stderr), timeout={timeout}) as requests:\n"
HUNG = {
    # A lock of C: the handler of a signal does not get to run.
    "a call that takes no signals": "    ready(); signal.pthread_sigmask(signal.SIG_BLOCK, [15]); time.sleep(60)",
    "what is unwound": "    try:\n        ready(); time.sleep(60)\n    finally:\n        threading.Event().wait()",
    "code that catches everything": (
        "    ready()\n    while True:\n        try: time.sleep(60)\n        except BaseException: pass"
    ),
    "a thread that is joined": (
        "    ready(); requests.stop.wait()\nthread = threading.Thread(target=time.sleep, args=(60,)); thread.start()"
    ),
    "the end of the interpreter": "    ready(); requests.stop.wait()\natexit.register(time.sleep, 60)",
}


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", START + program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.05)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("state", HUNG)
def test_a_signal_and_then_time_end_a_process_in_any_state(state: str) -> None:
    with running(BLOCK.format(timeout=0.3) + HUNG[state]) as process:
        # A thread that does not block the signal receives it for the process.
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(10) == 128 + signal.SIGTERM
        assert 0.2 < time.monotonic() - began < 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("state", ["what is unwound", "code that catches everything"])
def test_a_second_signal_ends_a_process_in_any_state(state: str, number: signal.Signals) -> None:
    with running(BLOCK.format(timeout=60) + HUNG[state]) as process:
        process.send_signal(number)
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(10) == 128 + number
        assert process.stderr is not None
        assert "Stopped at once." in process.stderr.read()


def test_an_error_output_that_nobody_reads_holds_up_no_end() -> None:
    full = "    os.set_blocking(2, False)\n    try:\n        while True: os.write(2, bytes(4096))\n"
    full += "    except BlockingIOError: os.set_blocking(2, True)\n    ready(); sys.stderr.write('x'); time.sleep(60)"
    with running(BLOCK.format(timeout=0.3) + full) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM


def test_a_run_that_ends_in_time_keeps_its_exit_code() -> None:
    with running(BLOCK.format(timeout=60) + "    ready(); requests.stop.wait()\nsys.exit(5)") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 5


def test_an_interrupt_from_within_is_no_second_signal() -> None:
    program = "    ready(); requests.stop.wait(); timer = threading.Timer(0.01, requests.interrupt)\n"
    program += "    try: timer.start(); time.sleep(60)\n    except stopping.StopNow: time.sleep(0.5)\nsys.exit(5)"
    with running(BLOCK.format(timeout=60) + program) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 5


def test_ctrl_c_twice_ends_any_other_command() -> None:
    with running("stopping.interruptible()\ntry:\n    ready(); time.sleep(60)\nfinally: time.sleep(60)") as process:
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 128 + signal.SIGINT
