"""Totals of the log while a run writes it: whoever looks at a long run finds them."""

from __future__ import annotations

import threading
from typing import Final, Self

from penstock.events import Event, EventLog
from penstock.events.background import BackgroundThread
from penstock.observe.log.totals import bring_up_to_date

EVENTS: Final = 2000
"""After so many events it looks whether there is enough for new totals."""

_CLOSE_SECONDS: Final = 5.0


class TotalsFollower:
    """Follows the events of one run, and brings the totals of the log up to date in a thread of its own.

    A context manager, entered when the log is open. It begins with what former runs have left.
    """

    def __init__(self, storage_uri: str, log: EventLog) -> None:
        self._storage = storage_uri
        self._log = log
        self._count = 0
        self._due = threading.Event()
        self._closing = threading.Event()
        self._thread = BackgroundThread(self._follow, "totals", log)

    def __enter__(self) -> Self:
        self._unsubscribe = self._log.subscribe(self._counted)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends after the step that it is in, which takes some seconds at most."""
        self._unsubscribe()
        self._closing.set()
        self._due.set()
        self._thread.join(_CLOSE_SECONDS)

    def _counted(self, _: Event) -> None:
        self._count += 1
        if self._count % EVENTS == 0:
            self._due.set()

    def _follow(self) -> None:
        while True:
            self._due.clear()
            if self._closing.is_set():  # checked after `clear`, which may have undone the last `set`
                return
            bring_up_to_date(self._storage, stop=self._closing)
            self._due.wait()
