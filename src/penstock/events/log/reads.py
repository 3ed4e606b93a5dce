"""The record of reads: who was shown which rows, chained as the actions of the event log are.

The event log has one writer, the holder of the storage's lock; readers are many and come while a run works. So reads
have segments of their own, `<storage>/reads/<n>.jsonl`, with the same lines and the same chain, and each later action
of the event log names the newest read: whoever has the newest action notices reads that are gone.
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

from penstock.errors import ConfigError, ExternalError, PenstockError, StateError
from penstock.events.clock import Clock, SystemClock
from penstock.events.codec import encode, json_ready
from penstock.events.flows.facts import details_of
from penstock.events.log.audit import Actor, RecordedAction, Tampering, chained, user_action, verified
from penstock.events.log.segments import len_of, read_lines, try_decode
from penstock.events.types import Event, EventType, Level, Origin
from penstock.storage import Storage, StorageLayout
from penstock.storage.stores.store import ABSENT, OvertakenError
from penstock.storage.stores.stores import store_of

READ: Final = "READ"
_NAME: Final = re.compile(r"\d{6,}\.jsonl")
_SEGMENT_BYTES: Final = 16 << 20
_OBJECT_BYTES: Final = 256 << 10
"""The same in an object store, where each read has the whole segment sent again."""

_TAIL: Final = 256 << 10
_MOST_TABLES: Final = 100
_SECONDS: Final = 5.0
"""So long a reader waits for others that record theirs."""

_LONGEST_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """Records the reads of one storage.

    Attributes:
        storage: its URI.
        pipeline: the name of the pipeline.
        reads: whether reads are recorded.
        required: whether a read that cannot be recorded is refused.
    """

    storage: str
    pipeline: str
    reads: bool = True
    required: bool = False

    def record(
        self, tables: Sequence[str], rows: int, arguments: Mapping[str, Any], *, by: Actor | None = None
    ) -> PenstockError | None:
        """Records that rows of `tables` are about to be shown; call it before they are.

        `arguments` say what was asked, such as `command` and `statement`; secrets are no longer in them. Returns why
        it could not be recorded, None when it was, or need not be.

        Raises:
            StateError: READ_NOT_RECORDED, where the record is required.
        """
        if not self.reads:
            return None
        names = [*tables[:_MOST_TABLES], *([f"and {len(tables) - _MOST_TABLES} more"] if tables[_MOST_TABLES:] else [])]
        built = user_action(READ, by=by, arguments={**arguments, "tables": names, "rows": rows})
        try:
            append_read(self.storage, self.pipeline, *built)
        except (ConfigError, ExternalError) as error:
            reason = error
        except (TimeoutError, OvertakenError):
            reason = ExternalError("STORAGE_FAILED", detail=f"{self.storage}: other readers keep the record busy")
        else:
            return None
        if self.required:
            raise StateError("READ_NOT_RECORDED", storage=self.storage, reason=reason) from reason
        return reason


def append_read(
    storage_uri: str, pipeline: str, message: str, details: Mapping[str, Any], clock: Clock | None = None
) -> None:
    """Appends one read to the record; on a local disk it is with the operating system when this returns.

    Raises:
        ConfigError, ExternalError: the storage cannot be written.
        TimeoutError, OvertakenError: others were faster, again and again.
    """
    storage = Storage(storage_uri)
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
    storage.makedirs()
    until = time.monotonic() + _SECONDS
    while True:
        try:
            _append(storage, event)
        except (TimeoutError, OvertakenError):
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - so that two readers do not keep step
        else:
            return


def newest_read(storage: Storage) -> str | None:
    """Returns the hash of the newest read, None when none was recorded."""
    for segment in reversed(_segments(storage)):
        if (last := _last_of(_end_of(storage, segment))) is not None:
            return last[1]
    return None


def recorded_reads(storage_uri: str) -> Iterator[RecordedAction]:
    """Yields the reads of a storage, oldest first, each with what is wrong with it.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED, STORAGE_EXTRA_MISSING.
    """
    return verified(_lines(Storage(storage_uri)))


def sealing(actions: Sequence[RecordedAction], reads: Sequence[RecordedAction]) -> list[RecordedAction]:
    """Returns the actions; one that names a read that is gone is marked so."""
    known = {each.hash for each in reads}

    def judged(action: RecordedAction) -> RecordedAction:
        named = None if action.event is None else details_of(action.event).get("reads")
        gone = action.tampering is None and named is not None and named not in known
        return replace(action, tampering=Tampering.READS_ARE_MISSING) if gone else action

    return [judged(each) for each in actions]


def _append(storage: Storage, event: Event) -> None:
    store = store_of(storage.uri)
    with storage.exclusive():
        segments = _segments(storage)
        newest = segments[-1] if segments else _segment(storage, 1)
        if store is not None:
            target = store.stored_object(newest)
            content, version = target.read()
            line = _next_line(storage, event, content, segments[:-1])
            if len(content) >= _OBJECT_BYTES:
                target, content, version = store.stored_object(_segment(storage, len(segments) + 1)), b"", ABSENT
            target.put_over(content + line, version)
            return
        size = len_of(storage, newest) if segments else 0
        content = storage.read_bytes(newest, start=max(0, size - _TAIL)) if size else b""
        line = _next_line(storage, event, content, segments[:-1])
        is_torn = bool(content) and not content.endswith(b"\n")  # what a crash cut off stays alone
        is_full = size >= _SEGMENT_BYTES
        storage.append(_segment(storage, len(segments) + 1) if is_torn or is_full else newest, line)


def _next_line(storage: Storage, event: Event, content: bytes, earlier: Sequence[str]) -> bytes:
    """Returns the line of a read behind those of `content`, which is the end of the newest segment."""
    last = _last_of(content)
    for segment in reversed(earlier):
        if last is not None:
            break
        last = _last_of(_end_of(storage, segment))
    before, previous = (None, None) if last is None else last
    numbered = replace(event, sequence=0 if before is None else before.sequence + 1)
    return encode(chained(numbered, previous)[0]).encode("ascii")


def _last_of(content: bytes) -> tuple[Event, str] | None:
    """Returns the last read whose line is whole, and its hash."""
    for line in reversed(content.split(b"\n")[:-1]):
        event = try_decode(line)
        if event is not None and (own := details_of(event).get("hash")) is not None:
            return event, str(own)
    return None


def _end_of(storage: Storage, segment: str) -> bytes:
    return storage.read_bytes(segment, start=max(0, len_of(storage, segment) - _TAIL))


def _segment(storage: Storage, number: int) -> str:
    return f"{StorageLayout(storage.uri).reads}/{number:06d}.jsonl"


def _segments(storage: Storage) -> list[str]:
    found = storage.list(StorageLayout(storage.uri).reads)
    return [entry.uri for entry in found if _NAME.fullmatch(entry.name)]


def _lines(storage: Storage) -> Iterator[bytes]:
    for segment in _segments(storage):
        for line, _ in read_lines(storage, segment):
            yield line
