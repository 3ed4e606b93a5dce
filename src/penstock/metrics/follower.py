"""Metrics while a pipeline runs: beside the flows, and never in their way."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from prometheus_client import CollectorRegistry, write_to_textfile

from penstock.config import MetricsSettings
from penstock.events import Event, EventLog
from penstock.events.background import BackgroundThread
from penstock.metrics.endpoint import MetricsEndpoint
from penstock.metrics.exposition import registry_of
from penstock.metrics.otlp import OtlpExport
from penstock.metrics.projection import MetricsProjection

TEXTFILE_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 5.0
_logger = logging.getLogger(__name__)


class Metrics:
    """Follows the events of one run and offers its numbers as the pipeline file says.

    A context manager, entered when the log is open. `on_ready` is called with the address of the endpoint, if there
    is one.

    Raises:
        ConfigError: METRICS_ADDRESS_REFUSED, METRICS_PORT_TAKEN, METRICS_CERTIFICATE_UNREADABLE,
            METRICS_EXTRA_MISSING, SECRET_NOT_FOUND; when it is entered.
    """

    def __init__(
        self,
        settings: MetricsSettings,
        log: EventLog,
        *,
        on_ready: Callable[[str], None] | None = None,
        textfile_seconds: float = TEXTFILE_SECONDS,
    ) -> None:
        self._settings = settings
        self._log = log
        self._on_ready = on_ready
        self._textfile_seconds = textfile_seconds
        self._projection = MetricsProjection()
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._ends = contextlib.ExitStack()

    def __enter__(self) -> Self:
        settings = self._settings
        registry = registry_of(self._projection)
        with contextlib.ExitStack() as ends:
            export = None if settings.otlp is None else OtlpExport(self._projection, settings.otlp)
            if export is not None:
                ends.callback(_in_time, export.close)
            if settings.port is not None:
                endpoint = MetricsEndpoint(registry, settings)
                ends.callback(endpoint.close)
                if self._on_ready is not None:
                    self._on_ready(endpoint.url)
            if settings.textfile is not None:
                self._start(ends, lambda: self._write_always(registry, settings.textfile), "metrics textfile")
            ends.callback(self._closing.set)
            self._start(ends, lambda: self._follow(export), "metrics of events")
            ends.callback(self._events.put, None)
            ends.callback(self._log.subscribe(self._events.put))
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the last events into account, writes and sends the last values; some seconds at most."""
        self._ends.close()

    def _start(self, ends: contextlib.ExitStack, work: Callable[[], None], name: str) -> None:
        thread = BackgroundThread(work, name, self._log)
        thread.start()
        ends.callback(thread.join, _CLOSE_SECONDS)

    def _follow(self, export: OtlpExport | None) -> None:
        while (event := self._events.get()) is not None:
            try:
                self._projection.apply(event)
                if export is not None:
                    export.apply(event)
            except Exception:  # one event that is not understood must not end the others
                _logger.exception("an event was left out of the metrics")

    def _write_always(self, registry: CollectorRegistry, path: Path | None) -> None:
        assert path is not None
        failed = False
        last = False
        while not last:
            last = self._closing.wait(self._textfile_seconds)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_to_textfile(str(path), registry)
                failed = False
            except OSError as error:
                if not failed:
                    _logger.warning("the metrics cannot be written to %s: %s", path, error.strerror)
                failed = True


def _in_time(close: Callable[[], None]) -> None:
    """Calls `close` in a thread, and goes on when that takes too long."""
    thread = threading.Thread(target=close, name="end of metrics", daemon=True)
    thread.start()
    thread.join(_CLOSE_SECONDS)
