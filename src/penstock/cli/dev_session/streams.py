"""The standard streams, environment and folder of who asks, in the place of those of this process."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, TextIO

from penstock.cli.dev_session.requests import Request

_NUMBERS: Final = range(3)


class SessionEndsError(BaseException):
    """Ctrl-C in the terminal of the session; no `except Exception`, and no Abort, may take it for another thing."""


class _Output(io.TextIOWrapper):
    """A standard stream; `write_to` is called before each write, and says whether there is anybody left to read it."""

    def __init__(self, number: int, like: TextIO, may_write: Callable[[], bool]) -> None:
        buffer = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        super().__init__(buffer, encoding=like.encoding, errors=like.errors)
        self._may_write = may_write

    def write(self, text: str) -> int:
        """Writes text at once, or drops it."""
        if self._may_write():
            super().write(text)
            self.flush()
        return len(text)


@contextmanager
def in_place_of(
    request: Request, streams: Sequence[int], environment: Mapping[str, str], may_write: Callable[[int], bool]
) -> Iterator[None]:
    """Makes this process look like that of a request while the block runs; `streams` are closed.

    `environment` are the variables of this process in which the two do not differ. `may_write` is called with the
    number of a stream before each write, and returns whether it is to be written.

    Raises:
        SessionEndsError: Ctrl-C was pressed in the terminal of this process.
    """
    outer, folder, argv, mask = dict(os.environ), os.getcwd(), sys.argv, os.umask(request.umask)
    stdout, stderr, handler = sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT)
    if handler is not signal.SIG_IGN:  # a shell may have had it ignored
        signal.signal(signal.SIGINT, _end)
    own = [os.dup(number) for number in _NUMBERS]
    _take(streams)
    try:
        sys.stdout = _Output(1, stdout, lambda: may_write(1))
        sys.stderr = _Output(2, stderr, lambda: may_write(2))
        _replace_environment({**environment, **request.shows})
        os.chdir(request.folder)
        sys.argv = ["penstock", *request.words]
        with warnings.catch_warnings():  # has those shown again that were shown before
            yield
    finally:
        sys.stdout, sys.stderr, sys.argv = stdout, stderr, argv
        _take(own)
        _replace_environment(outer)
        os.chdir(folder)
        os.umask(mask)
        signal.signal(signal.SIGINT, handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SessionEndsError


def _replace_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


def _take(streams: Sequence[int]) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    for number, stream in zip(_NUMBERS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
