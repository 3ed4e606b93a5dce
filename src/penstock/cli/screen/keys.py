"""Single keys from the terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

WaitForKey = Callable[[float], str | None]
"""Waits so many seconds at most, and returns the key that was pressed, None for none."""


@contextmanager
def key_presses(also: Sequence[int] = ()) -> Iterator[WaitForKey]:
    """Reads keys inside the block; where standard input is no terminal of this process, it only waits.

    `also` are file descriptors that end a wait when there is something to read.
    The terminal is as it was after the block, also after an error.
    """
    descriptor = _terminal()
    if descriptor is None:
        yield lambda seconds: _wait(also, seconds)
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield lambda seconds: _key(descriptor, also, seconds)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _terminal() -> int | None:
    try:
        descriptor = sys.stdin.fileno()
        # A job in the background would be stopped for touching the terminal.
        return descriptor if os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp() else None
    except (AttributeError, OSError, ValueError):
        return None


def _wait(others: Sequence[int], seconds: float) -> None:
    select.select(others, [], [], seconds)


def _key(descriptor: int, others: Sequence[int], seconds: float) -> str | None:
    if descriptor not in select.select([descriptor, *others], [], [], seconds)[0]:
        return None
    return os.read(descriptor, 1).decode("ascii", "replace") or "q"  # the terminal is closed
