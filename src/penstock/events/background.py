"""A thread beside a run: what it does can fail, and the run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from penstock.errors import ExternalError
from penstock.events import builders
from penstock.events.log.event_log import EventLog
from penstock.events.types import EventType, Level


class BackgroundThread(threading.Thread):
    """A daemon thread that a run can do without, such as one for alerts.

    When it cannot be started, or `work` raises, that is one WARN event of `log`, with BACKGROUND_THREAD_ENDED.
    """

    def __init__(self, work: Callable[[], object], name: str, log: EventLog) -> None:
        super().__init__(target=work, name=name, daemon=True)
        self._log = log

    def start(self) -> None:
        """Starts it, if the system lets it."""
        try:
            super().start()
        except RuntimeError as failure:
            self._report(failure)

    def run(self) -> None:
        """Blocks until `work` has ended; raises nothing."""
        try:
            super().run()
        except BaseException as failure:  # noqa: BLE001 - it ends nothing but this thread
            self._report(failure)

    def join(self, timeout: float | None = None) -> None:
        """Waits for its end; returns at once when it could not be started."""
        if self.ident is not None:
            super().join(timeout)

    def _report(self, failure: BaseException) -> None:
        with suppress(Exception):  # the log is closed, or cannot be written either
            error = ExternalError("BACKGROUND_THREAD_ENDED", thread=self.name, detail=repr(failure))
            built = builders.hook_progress(self.name, "FAILED", reason=error.message)
            self._log.append(EventType.HOOK_PROGRESS, *built, level=Level.WARN, error=error)
