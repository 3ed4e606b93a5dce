"""What `penstock run` shows while it runs: a live table on a terminal, plain lines elsewhere.

Both are driven by the run's events alone, the same that go to the event log.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from penstock.cli.screen.console import clean, note, stderr
from penstock.cli.screen.status_view import live_report
from penstock.events.types import Event, EventType, FlowStatus, Level
from penstock.observe.flows.loads import FlowLoad, LoadedStatus
from penstock.observe.numbers import count, duration_ms, rate
from penstock.observe.status.pipeline_status import PipelineStatus


class _View:
    """Shows a run. `on_event` may be called from any thread, `refresh` by the thread that entered the view."""

    def __init__(self) -> None:
        self._projection = LoadedStatus()
        self._lock = threading.Lock()

    def status(self) -> PipelineStatus:
        """Returns the status from this run's events, numbers of this run only."""
        return self._look()[0]

    def _apply(self, event: Event) -> None:
        with self._lock:
            self._projection.apply(event)

    def _look(self) -> tuple[PipelineStatus, tuple[FlowLoad, ...]]:
        with self._lock:
            return self._projection.look(datetime.now(UTC))


class PlainLines(_View):
    """One line for each transition and each batch, for logs and pipes.

    A thread writes them: a pipe that is not read, or a terminal that is held, holds up neither the flows nor the
    event log. What waits is written when the block is left; when the run is to end at once, it is not.
    """

    def __init__(self, write: Callable[[str], None] = note) -> None:
        super().__init__()
        self._write = write
        self._last_progress = ""
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # a signal handler may put
        self._writer = threading.Thread(target=self._write_all, name="progress lines", daemon=True)

    def on_event(self, event: Event) -> None:
        """Shows the event's line, if it has one."""
        self._apply(event)
        line = event_line(event)
        if line is not None:
            self._waiting.put(line)

    def progress(self, message: str) -> None:
        """Shows the message once."""
        if message != self._last_progress:
            self._last_progress = message
            self.announce(message)

    def announce(self, message: str) -> None:
        """Shows the message."""
        self._waiting.put(_timed(datetime.now(UTC), message))

    def explain(self, text: str) -> None:
        """Shows a text of several lines as it is."""
        self._waiting.put(text)

    def refresh(self) -> None:
        """Does nothing: lines are written as they come."""

    def __enter__(self) -> Self:
        self._writer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.put(None)
        if kind is None or issubclass(kind, Exception):
            self._writer.join()

    def _write_all(self) -> None:
        with suppress(OSError):  # the reader is gone
            while (text := self._waiting.get()) is not None:
                self._write(text)


class LiveTable(_View):
    """A table that is redrawn in place; warnings and errors scroll by above it."""

    def __init__(self) -> None:
        from rich.live import Live

        super().__init__()
        self._console = stderr()
        # Transient: the summary that follows holds the same numbers, and one table is enough.
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._news = threading.Event()
        self._last_redraw = 0.0
        self._message = "Starting …"
        self._lines: deque[str] = deque()  # its operations are atomic, so that a signal handler needs no lock

    def on_event(self, event: Event) -> None:
        """Remembers the event for the next redraw."""
        self._apply(event)
        self._news.set()
        if event.level in (Level.WARN, Level.ERROR):
            self._lines.append(event_line(event) or _timed(event.timestamp, event.message))

    def progress(self, message: str) -> None:
        """Shows the message until there is a table."""
        self._message = clean(message)
        self._news.set()

    def announce(self, message: str) -> None:
        """Shows the message above the table at the next redraw; takes no lock, which the main thread could hold."""
        self._lines.append(_timed(datetime.now(UTC), message))
        self._last_redraw = 0.0

    def refresh(self) -> None:
        """Redraws when there is news, and once a second for the clock."""
        from rich.text import Text

        if not self._news.is_set() and time.monotonic() - self._last_redraw < 1:
            return
        self._news.clear()
        self._last_redraw = time.monotonic()
        while self._lines:
            self._live.console.print(Text(self._lines.popleft()))
        self._live.update(self._drawing(), refresh=True)

    def _drawing(self) -> Any:
        from rich.text import Text

        status, flows = self._look()
        return live_report(status, flows) if status.datasets else Text(self._message)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._news.set()
        if kind is None:
            self.refresh()
        self._live.stop()


ProgressView = LiveTable | PlainLines


def progress_view() -> ProgressView:
    """Returns the live table when stderr is a terminal, plain lines otherwise."""
    return LiveTable() if sys.stderr.isatty() else PlainLines()


def event_line(event: Event) -> str | None:
    """Returns the line of an event that a person waiting for a run wants to see, else None."""
    dataset = event.origin.dataset_name
    details = event.details.get(event.event_type.value) or {}
    match event.event_type:
        case EventType.FLOW_PROGRESS if details.get("metrics") is not None:
            words = _batch(event, details)
        case EventType.FLOW_PROGRESS:
            status = str(details.get("status") or event.message)
            words = status.lower()
            if words in _UNREMARKABLE:
                return None
            if event.level in (Level.ERROR, Level.WARN):
                words += f": {event.message.partition(f' is {status}: ')[2] or event.message}"
        case EventType.UPDATE_PROGRESS:
            words = f"update {str(details.get('state') or event.message).lower().replace('_', ' ')}"
        case EventType.MAINTENANCE_PROGRESS if event.level is Level.INFO:
            words = f"maintained: {event.message.partition(': ')[2]}"
        case _ if event.level in (Level.WARN, Level.ERROR):
            words = event.message.removeprefix(f"{dataset}: ")
        case _:
            return None
    return _timed(event.timestamp, f"{dataset} {words}" if dataset else words)


_UNREMARKABLE = {FlowStatus.QUEUED.value.lower(), FlowStatus.PLANNING.value.lower(), FlowStatus.STARTING.value.lower()}


def _batch(event: Event, details: Any) -> str:
    metrics = details["metrics"]
    parts = [
        f"{count(metrics.get('num_input_rows') or 0)} rows in, {count(metrics.get('num_output_rows') or 0)} written"
    ]
    quality = details.get("data_quality") or {}
    taken_out = {word: quality.get(f"{word}_records") for word in ("dropped", "quarantined")}
    parts += [f"{count(rows)} {word}" for word, rows in taken_out.items() if rows]
    if metrics.get("processed_rows_per_second"):
        parts.append(rate(metrics["processed_rows_per_second"]))
    if metrics.get("batch_duration_ms") is not None:
        parts.append(duration_ms(metrics["batch_duration_ms"]))
    batch = event.origin.batch_id if event.origin.batch_id is not None else metrics.get("batch_id")
    return (f"batch {batch}: " if batch is not None else "") + ", ".join(parts)


def _timed(moment: datetime, text: str) -> str:
    return clean(f"{moment.astimezone().strftime('%H:%M:%S')} {text}")
