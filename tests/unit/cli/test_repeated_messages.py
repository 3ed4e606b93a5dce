"""A cause that repeats itself fills no disk: standard error gets a few messages of it, and how many were left out."""

from __future__ import annotations

import logging
import subprocess
import sys

from penstock.cli.screen.repeated_messages import RepeatedMessages

_LOOP = """
import asyncio
from typer.testing import CliRunner
from penstock.cli.main import app

CliRunner().invoke(app, ["explain", "STORAGE_LOCKED"])
loop = asyncio.new_event_loop()
for _ in range(2048):
    try:
        raise OSError(24, "Too many open files")
    except OSError as error:
        loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": error})
loop.close()
"""


def test_a_library_that_fails_in_a_loop_writes_little() -> None:
    done = subprocess.run([sys.executable, "-c", _LOOP], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.count("Too many open files") == 10
    assert len(done.stderr) < 10_000


def test_each_place_has_its_own_limit_and_says_how_many_were_left_out() -> None:
    now = [0.0]
    limit = RepeatedMessages(lambda: now[0])

    def passed(line: int) -> str | None:
        record = logging.LogRecord("shop", logging.WARNING, "flows.py", line, "failed %s", ("again",), None)
        return record.getMessage() if limit.filter(record) else None

    assert [passed(1) for _ in range(1010)] == ["failed again"] * 10 + [None] * 1000
    assert passed(2) == "failed again"
    now[0] = 60.0
    assert passed(1) == "failed again (1,000 more like this before it were left out)"
    assert passed(1) == "failed again"
