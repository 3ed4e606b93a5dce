"""What follows the event log of a run beside it: alerts, metrics, lineage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from penstock.events import EventLog

Follower = Callable[[EventLog], AbstractContextManager[object]]
"""Makes what is entered when the log is open, before its first event, and left before the log is closed.

It subscribes to the log, so that the runtime knows nothing of it; it does its work in threads of its own.
"""


@contextmanager
def followed_by(followers: Sequence[Follower], log: EventLog) -> Iterator[None]:
    """Enters each follower, and leaves them when the run is over, the last one first."""
    with ExitStack() as entered:
        for follower in followers:
            entered.enter_context(follower(log))
        yield
