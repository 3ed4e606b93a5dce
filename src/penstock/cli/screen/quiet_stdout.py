"""Keeps stdout for the result: a pipeline file that prints, or the JVM, writes to stderr meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

STDOUT, STDERR = 1, 2


@contextmanager
def only_results_on_stdout() -> Iterator[None]:
    """Sends everything that is written to stdout inside the block to stderr, by this process and its children."""
    sys.stdout.flush()
    saved: int | None = None
    with suppress(OSError):  # a daemon may have closed either of them
        saved = os.dup(STDOUT)
        os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if saved is not None:
            os.dup2(saved, STDOUT)
            os.close(saved)
