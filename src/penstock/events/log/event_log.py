"""The append-only event log of a storage: written by one run at a time, one line per event."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, Self

from penstock.errors import ExternalError, PenstockError
from penstock.events.clock import Clock, SystemClock
from penstock.events.codec import encode, json_ready
from penstock.events.log.audit import chained, newest_hash
from penstock.events.log.reads import newest_read
from penstock.events.log.segments import last_events, list_segments, segment_name
from penstock.events.types import Event, EventType, Level, Origin
from penstock.storage import Storage, StorageLayout

_SEGMENT_BYTES: Final = 16 << 20
_OBJECT_BYTES: Final = 1 << 20
"""The same in an object store, where each new line has the whole segment sent again."""

_logger = logging.getLogger(__name__)


def new_update_id() -> str:
    """Returns an id for a new update: a random UUID."""
    return str(uuid.uuid4())


class EventLog:
    """Writes the events of one update; made by `open`, thread-safe, flushed line by line.

    The holder of the storage's lock is the only writer. Should two write nevertheless, each has
    its own segments and nothing is lost, but sequence numbers can repeat. A line is handed to the
    operating system before `append` returns; it survives a kill of the process, not necessarily a
    power failure (no fsync). In an object store lines arrive within about a second, and a kill loses those of it.
    """

    def __init__(self, storage: Storage, *, origin: Origin, clock: Clock, next_sequence: int, ordinal: int) -> None:
        self._storage = storage
        self._origin = origin
        self._clock = clock
        self._next_sequence = next_sequence
        self._ordinal = ordinal
        self._part = 0
        self._segment: BinaryIO | None = None
        self._segment_bytes = 0
        self._longest_segment = _SEGMENT_BYTES if storage.is_local else _OBJECT_BYTES
        self._closed = False
        self._newest_action: tuple[str | None] | None = None  # its hash; outside, whether that is known
        self._subscribers: list[Callable[[Event], None]] = []
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        storage_uri: str,
        *,
        pipeline_name: str,
        update_id: str,
        clock: Clock | None = None,
        host: str | None = None,
    ) -> EventLog:
        """Opens the log of a storage for one update, after the last readable event in it.

        Nothing is written before the first `append`. `host` defaults to this machine's name.

        Raises:
            ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
        """
        storage = Storage(storage_uri)
        segments = list_segments(storage)
        next_sequence = 0
        for _, segment in reversed(segments):
            last = last_events(storage, segment.uri, 1)
            if last:
                next_sequence = last[0].sequence + 1
                break
        return cls(
            storage,
            origin=Origin(pipeline_name, update_id, host=socket.gethostname() if host is None else host),
            clock=clock or SystemClock(),
            next_sequence=next_sequence,
            ordinal=segments[-1][0][0] + 1 if segments else 1,
        )

    @property
    def update_id(self) -> str:
        """The update whose events this log writes."""
        return self._origin.update_id

    @property
    def host(self) -> str:
        """The machine that its events come from."""
        return self._origin.host or ""

    @property
    def next_sequence(self) -> int:
        """The sequence number of the event that comes next."""
        return self._next_sequence

    def append(
        self,
        event_type: EventType,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        level: Level | None = None,
        dataset: str | None = None,
        flow: str | None = None,
        batch_id: int | None = None,
        error: PenstockError | Mapping[str, Any] | None = None,
    ) -> Event:
        """Writes one event and returns it; then calls the subscribers, in the order of the log.

        `message` and `details` come from `penstock.events.builders`: `append(type, *builder(…))`.
        `dataset` is `schema.name`, `flow` the flow's declared name. Without `level` it is ERROR
        when there is an `error`, METRICS for the numbers of a batch, else INFO. A PenstockError is
        written as `{condition, message, fix, dataset, file, line, facts}`. A `user_action` is chained to
        the one before it.

        Raises:
            ExternalError: EVENT_LOG_WRITE_FAILED, such as a full disk; the event is not in the log.
            ConfigError: STORAGE_NOT_WRITABLE, on the first event of a segment.
            ValueError: the log is closed.
        """
        details = json_ready(details or {})
        written_error = _error_mapping(error)
        with self._lock:
            if self._closed:
                raise ValueError("the event log is closed")
            sequence = self._next_sequence
            event = Event(
                id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._origin.update_id}/{sequence}")),
                sequence=sequence,
                timestamp=self._clock.now(),
                origin=Origin(
                    self._origin.pipeline_name, self._origin.update_id, dataset, flow, batch_id, self._origin.host
                ),
                level=level or _default_level(details, written_error),
                event_type=event_type,
                message=message,
                details=details,
                error=written_error,
            )
            if event_type is EventType.USER_ACTION:
                event = self._write_action(event)
            else:
                self._write(encode(event).encode("ascii"))
            self._next_sequence = sequence + 1
            for subscriber in tuple(self._subscribers):
                try:
                    subscriber(event)
                except Exception:  # a broken display must not stop the pipeline
                    _logger.exception("a subscriber of the event log failed and was removed")
                    self._unsubscribe(subscriber)
        return event

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Calls `callback` with each later event, in this process, and returns how to end that.

        It runs in the appending thread, under the log's lock: it must be quick. One that raises is
        removed and the failure goes to the Python log.
        """
        with self._lock:
            self._subscribers.append(callback)
        return lambda: self._unsubscribe(callback)

    def close(self) -> None:
        """Closes the segment, which does not change from then on; idempotent."""
        with self._lock:
            self._closed = True
            self._end_segment()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unsubscribe(self, callback: Callable[[Event], None]) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._subscribers.remove(callback)

    def _write_action(self, event: Event) -> Event:
        before = self._newest_action or (newest_hash(self._storage),)
        self._newest_action = None  # should the write fail, it is not known whether the line is there
        chain, own = chained(event, before[0], reads=newest_read(self._storage))
        self._write(encode(chain).encode("ascii"))
        self._newest_action = (own,)
        return chain

    def _write(self, line: bytes) -> None:
        if self._segment is None:
            self._start_segment()
        elif self._segment_bytes >= self._longest_segment:
            with contextlib.suppress(PenstockError, OSError):  # no descriptor is left: this segment gets longer
                self._start_segment()
        assert self._segment is not None
        try:
            written = self._segment.write(line)
            self._segment.flush()
            if written != len(line):
                raise OSError(None, f"only {written} of {len(line)} bytes were written")  # noqa: TRY301 - same way out
        except OSError as error:
            self._end_segment()  # its last line may be torn; the next event goes to a new segment
            path = StorageLayout(self._storage.uri).events
            raise ExternalError("EVENT_LOG_WRITE_FAILED", path=path, reason=error.strerror or error) from error
        self._segment_bytes += len(line)

    def _start_segment(self) -> None:
        events = StorageLayout(self._storage.uri).events
        new: BinaryIO | None = None
        while new is None:
            try:
                new = self._storage.create_log(f"{events}/{segment_name(self._ordinal, self._part + 1)}")
                self._part += 1
            except FileExistsError:  # another writer has this ordinal
                self._ordinal, self._part = self._ordinal + 1, 0
        self._end_segment()
        self._segment, self._segment_bytes = new, 0

    def _end_segment(self) -> None:
        if self._segment is not None:
            with contextlib.suppress(OSError):
                self._segment.close()
            self._segment = None


def _error_mapping(error: PenstockError | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if isinstance(error, PenstockError):
        return {**error.to_json(), "facts": dict(error.facts)}
    return None if error is None else json_ready(error)


def _default_level(details: Mapping[str, Any], error: Mapping[str, Any] | None) -> Level:
    if error is not None:
        return Level.ERROR
    progress = details.get("flow_progress")
    numbers = "accounting" in details or (isinstance(progress, dict) and progress.get("metrics"))
    return Level.METRICS if numbers else Level.INFO
