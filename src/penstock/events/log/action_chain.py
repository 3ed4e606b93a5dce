"""A chain of actions that many processes append to without the storage's lock.

Its segments, `<folder>/<n>.jsonl`, have the lines of the event log, each with the hash of the one before it, as
`penstock.events.log.audit` describes. A line torn by a crash stays alone at the end of its segment.

Threads of one process append together, as databases commit in groups: what comes while one of them writes is written by
the next one with its own. In an object store, where an append takes three requests, many users of one server would
otherwise overtake each other until some of them give up.
"""

from __future__ import annotations

import random
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from penstock.errors import ExternalError
from penstock.events.clock import Clock, SystemClock
from penstock.events.codec import encode, json_ready
from penstock.events.flows.facts import details_of
from penstock.events.log.audit import RecordedAction, chained, verified
from penstock.events.log.segments import len_of, read_lines, try_decode
from penstock.events.types import Event, EventType, Level, Origin
from penstock.storage import Storage
from penstock.storage.stores.store import ABSENT, OvertakenError
from penstock.storage.stores.stores import store_of

_NAME: Final = re.compile(r"\d{6,}\.jsonl")
_SEGMENT_BYTES: Final = 16 << 20
_OBJECT_BYTES: Final = 256 << 10
"""The same in an object store, where each line has the whole segment sent again."""

_TAIL: Final = 256 << 10
_SECONDS: Final = 10.0
"""So long a process tries again where others were faster."""

_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class ActionChain:
    """The chain in one folder of a storage.

    Attributes:
        storage: where it is.
        folder: the URI of its folder, which need not exist.
    """

    storage: Storage
    folder: str

    def append(self, pipeline: str, message: str, details: Mapping[str, Any], *, clock: Clock | None = None) -> None:
        """Appends one action; on a local disk it is with the operating system when this returns.

        Raises:
            ConfigError, ExternalError: the storage cannot be written; STORAGE_FAILED also where other processes were
                faster for ten seconds.
        """
        event = Event(
            id=str(uuid.uuid4()),
            sequence=0,
            timestamp=(clock or SystemClock()).now(),
            origin=Origin(pipeline, "", host=socket.gethostname()),
            level=Level.INFO,
            event_type=EventType.USER_ACTION,
            message=message,
            details=json_ready(details),
            error=None,
        )
        self.storage.makedirs()
        _group(self.folder).append(event, self._append_all)

    def newest(self) -> str | None:
        """Returns the hash of the newest action, None when there is none."""
        for segment in reversed(self._segments()):
            if (last := _last_of(self._end_of(segment))) is not None:
                return last[1]
        return None

    def actions(self) -> Iterator[RecordedAction]:
        """Yields the actions, oldest first, each with what is wrong with it.

        Raises:
            ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED, STORAGE_EXTRA_MISSING.
        """
        return verified(line for segment in self._segments() for line, _ in read_lines(self.storage, segment))

    def _append_all(self, events: Sequence[Event]) -> None:
        until, longest = time.monotonic() + _SECONDS, _SHORTEST_PAUSE
        while True:
            try:
                self._append(events)
            except (TimeoutError, OvertakenError):
                if time.monotonic() > until:
                    raise ExternalError("STORAGE_FAILED", detail=f"{self.folder}: others keep it busy") from None
                time.sleep(random.uniform(0, longest))  # noqa: S311 - so that two writers do not keep step
                longest = min(2 * longest, _LONGEST_PAUSE)
            else:
                return

    def _append(self, events: Sequence[Event]) -> None:
        store = store_of(self.storage.uri)
        with self.storage.exclusive():
            segments = self._segments()
            newest = segments[-1] if segments else self._segment(1)
            if store is not None:
                target = store.stored_object(newest)
                content, version = target.read()
                if events[-1].id.encode("ascii") in content:  # they were written, but the store's answer was lost
                    return
                lines = self._next_lines(events, content, segments[:-1])
                if len(content) >= _OBJECT_BYTES:
                    target, content, version = store.stored_object(self._segment(len(segments) + 1)), b"", ABSENT
                target.put_over(content + lines, version)
                return
            size = len_of(self.storage, newest) if segments else 0
            content = self.storage.read_bytes(newest, start=max(0, size - _TAIL)) if size else b""
            lines = self._next_lines(events, content, segments[:-1])
            is_torn = bool(content) and not content.endswith(b"\n")  # what a crash cut off stays alone
            is_full = size >= _SEGMENT_BYTES
            self.storage.append(self._segment(len(segments) + 1) if is_torn or is_full else newest, lines)

    def _next_lines(self, events: Sequence[Event], content: bytes, earlier: Sequence[str]) -> bytes:
        """Returns the lines of actions behind those of `content`, which is the end of the newest segment."""
        last = _last_of(content)
        for segment in reversed(earlier):
            if last is not None:
                break
            last = _last_of(self._end_of(segment))
        before, previous = (None, None) if last is None else last
        sequence = 0 if before is None else before.sequence + 1
        lines = b""
        for number, event in enumerate(events, sequence):
            action, previous = chained(replace(event, sequence=number), previous)
            lines += encode(action).encode("ascii")
        return lines

    def _end_of(self, segment: str) -> bytes:
        return self.storage.read_bytes(segment, start=max(0, len_of(self.storage, segment) - _TAIL))

    def _segment(self, number: int) -> str:
        return f"{self.folder}/{number:06d}.jsonl"

    def _segments(self) -> list[str]:
        return [entry.uri for entry in self.storage.list(self.folder) if _NAME.fullmatch(entry.name)]


def _last_of(content: bytes) -> tuple[Event, str] | None:
    """Returns the last action whose line is whole, and its hash."""
    for line in reversed(content.split(b"\n")[:-1]):
        event = try_decode(line)
        if event is not None and (own := details_of(event).get("hash")) is not None:
            return event, str(own)
    return None


@dataclass(slots=True)
class _Waiting:
    event: Event
    is_done: bool = False
    error: BaseException | None = None


@dataclass(slots=True)
class _Group:
    """The threads of this process that append to one chain."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    guard: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[_Waiting] = field(default_factory=list)

    def append(self, event: Event, write: Callable[[Sequence[Event]], None]) -> None:
        """Returns when the event is written, by this thread or by one before it; raises what `write` raises."""
        own = _Waiting(event)
        with self.guard:
            self.waiting.append(own)
        with self.turn:
            if not own.is_done:
                with self.guard:
                    batch, self.waiting = self.waiting, []
                try:
                    write([each.event for each in batch])
                except BaseException as error:  # noqa: BLE001 - each of them raises it below
                    for each in batch:
                        each.error = error
                for each in batch:
                    each.is_done = True
        if own.error is not None:
            raise own.error


@lru_cache(maxsize=64)
def _group(folder: str) -> _Group:
    return _Group()
