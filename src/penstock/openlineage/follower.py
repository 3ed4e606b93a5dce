"""OpenLineage while a pipeline runs: beside the flows, and never in their way."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from penstock.config import LineageSettings, PipelineConfig, SecretReference
from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.events import Event, EventLog, EventType, Level, builders
from penstock.events.background import BackgroundThread

if TYPE_CHECKING:
    from openlineage.client.transport.transport import Transport

CAPACITY: Final = 10_000
CLOSE_SECONDS: Final = 10.0
_TIMEOUT_SECONDS: Final = 10.0
_HOOK: Final = "lineage"


class Lineage:
    """Follows the events of one run and sends OpenLineage's RunEvents as the pipeline file says.

    A context manager, entered when the log is open. Each receiver has a thread and a queue of `capacity` events; what
    does not fit is left out, and both that and a failing receiver are reported once in the event log. The end of the
    run waits `close_seconds`, not longer.

    Raises:
        ConfigError: LINEAGE_EXTRA_MISSING, SECRET_NOT_FOUND; when it is built.
    """

    def __init__(
        self,
        config: PipelineConfig,
        log: EventLog,
        *,
        interval: float = 60.0,
        capacity: int = CAPACITY,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        try:
            from penstock.openlineage.run_events import RunEvents
        except ImportError:
            raise ConfigError("LINEAGE_EXTRA_MISSING") from None
        self._log = log
        self._close_seconds = close_seconds
        self._events = RunEvents(config.name, config.lineage.namespace, interval=interval)
        self._receivers = tuple(
            _Receiver(name, transport, log, config.redact, capacity)
            for name, transport in _transports(config.lineage).items()
        )

    def __enter__(self) -> Self:
        for receiver in self._receivers:
            receiver.start()
        self._unsubscribe = self._log.subscribe(self._apply)
        return self

    def __exit__(self, *_: object) -> None:
        """Sends what waits, for a few seconds; the log is still open."""
        self._unsubscribe()
        deadline = time.monotonic() + self._close_seconds
        for receiver in self._receivers:
            receiver.finish(deadline - time.monotonic())

    def _apply(self, event: Event) -> None:
        """Called under the log's lock, in the order of the log: builds events, and sends nothing."""
        for built in self._events.apply(event):
            for receiver in self._receivers:
                receiver.offer(built)


class _Receiver:
    """One transport with its thread."""

    def __init__(
        self, name: str, transport: Transport, log: EventLog, redacted: Callable[[str], str], capacity: int
    ) -> None:
        self._name = name
        self._transport = transport
        self._log = log
        self._redacted = redacted
        self._events: queue.Queue[Any] = queue.Queue(capacity)
        self._dropped = 0
        self._failing = False
        self._thread = BackgroundThread(self._send, f"lineage to {name}", log)

    def start(self) -> None:
        self._thread.start()

    def offer(self, event: Any) -> None:
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self._dropped += 1

    def finish(self, seconds: float) -> None:
        """Waits so long for what is to be sent, and reports what was not."""
        deadline = time.monotonic() + max(seconds, 0)
        with contextlib.suppress(queue.Full):
            self._events.put(None, timeout=max(seconds, 0))
            self._thread.join(max(deadline - time.monotonic(), 0))
        missed = self._dropped + sum(event is not None for event in self._events.queue)
        if missed:
            self._say("DROPPED", f"{missed} OpenLineage events could not be sent to {self._name} in time")

    def _send(self) -> None:
        while (event := self._events.get()) is not None:
            try:
                self._transport.emit(event)
            except Exception as failure:  # noqa: BLE001 - a receiver can fail in any way, and ends nothing
                if not self._failing:
                    error = ExternalError("LINEAGE_NOT_SENT", receiver=self._name, reason=_reason(failure))
                    error.redact(self._redacted)
                    self._say("FAILED", error.message, error)
                self._failing = True
            else:
                self._failing = False
        with contextlib.suppress(Exception):
            self._transport.close()

    def _say(self, status: Literal["FAILED", "DROPPED"], reason: str, error: PenstockError | None = None) -> None:
        built = builders.hook_progress(_HOOK, status, reason=reason)
        with contextlib.suppress(ValueError, PenstockError):  # the run is over, or its disk is full
            self._log.append(EventType.HOOK_PROGRESS, *built, level=Level.WARN, error=error)


def _transports(settings: LineageSettings) -> dict[str, Transport]:
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport, TokenProvider

    found: dict[str, Transport] = {}
    if settings.file is not None:
        with contextlib.suppress(OSError):  # writing to it fails then, and is reported
            settings.file.parent.mkdir(parents=True, exist_ok=True)
        found[str(settings.file)] = FileTransport(FileConfig(str(settings.file), append=True))
    if settings.url is not None:
        secret = isinstance(settings.url, SecretReference)
        url = settings.url.resolve() if isinstance(settings.url, SecretReference) else settings.url
        token = settings.token
        auth = TokenProvider({}) if token is None else ApiKeyTokenProvider({"apiKey": token.resolve()})
        config = HttpConfig(url, settings.endpoint, timeout=_TIMEOUT_SECONDS, auth=auth)
        found["the server of lineage.url" if secret else url] = HttpTransport(config)
    return found


def _reason(failure: Exception) -> str:
    """Says what failed without the address, which may be secret."""
    answer = getattr(getattr(failure, "response", None), "status_code", None)
    if answer is not None:
        return f"it answered {answer}"
    for each in (failure, failure.__cause__, failure.__context__):
        if isinstance(each, OSError) and each.strerror:
            return each.strerror
    return type(failure).__name__
