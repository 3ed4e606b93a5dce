"""A chain of actions that many processes append to without the storage's lock.

Its segments, `<folder>/<n>.jsonl`, have the lines of the event log, each with the hash of the one before it, as
`penstock.events.log.audit` describes. A line torn by a crash stays alone at the end of its segment.
"""

from __future__ import annotations

import random
import re
import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

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
_SECONDS: Final = 5.0
"""So long a writer waits for others."""

_LONGEST_PAUSE: Final = 0.1


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
            ConfigError, ExternalError: the storage cannot be written.
            TimeoutError, OvertakenError: others were faster for five seconds.
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
        until = time.monotonic() + _SECONDS
        while True:
            try:
                self._append(event)
            except (TimeoutError, OvertakenError):
                if time.monotonic() > until:
                    raise
                time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - so that two writers do not keep step
            else:
                return

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

    def _append(self, event: Event) -> None:
        store = store_of(self.storage.uri)
        with self.storage.exclusive():
            segments = self._segments()
            newest = segments[-1] if segments else self._segment(1)
            if store is not None:
                target = store.stored_object(newest)
                content, version = target.read()
                line = self._next_line(event, content, segments[:-1])
                if len(content) >= _OBJECT_BYTES:
                    target, content, version = store.stored_object(self._segment(len(segments) + 1)), b"", ABSENT
                target.put_over(content + line, version)
                return
            size = len_of(self.storage, newest) if segments else 0
            content = self.storage.read_bytes(newest, start=max(0, size - _TAIL)) if size else b""
            line = self._next_line(event, content, segments[:-1])
            is_torn = bool(content) and not content.endswith(b"\n")  # what a crash cut off stays alone
            is_full = size >= _SEGMENT_BYTES
            self.storage.append(self._segment(len(segments) + 1) if is_torn or is_full else newest, line)

    def _next_line(self, event: Event, content: bytes, earlier: Sequence[str]) -> bytes:
        """Returns the line of an action behind those of `content`, which is the end of the newest segment."""
        last = _last_of(content)
        for segment in reversed(earlier):
            if last is not None:
                break
            last = _last_of(self._end_of(segment))
        before, previous = (None, None) if last is None else last
        numbered = replace(event, sequence=0 if before is None else before.sequence + 1)
        return encode(chained(numbered, previous)[0]).encode("ascii")

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
