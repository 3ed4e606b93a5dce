"""A question to a cluster through the JVM, whose clients ask again for minutes where nobody answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from py4j.protocol import Py4JError

T = TypeVar("T")


def ask_within(seconds: float, ask: Callable[[], T]) -> T:
    """Returns what `ask` returns; a thread that gets no answer is left behind.

    Raises:
        TimeoutError: there is no answer after `seconds`, or none is to be had.
    """
    answers: list[T] = []

    def wait() -> None:
        with suppress(Py4JError, OSError):
            answers.append(ask())

    thread = threading.Thread(target=wait, name="question to the cluster", daemon=True)
    thread.start()
    thread.join(seconds)
    if not answers:
        raise TimeoutError
    return answers[0]
