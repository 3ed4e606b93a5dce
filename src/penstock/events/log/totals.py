"""The totals of the beginning of a log, kept beside it so that who sums events up need not read all of them again.

`<storage>/events/_totals` holds what `penstock compact` would leave of that beginning, which stays where it is: some
lines, and a `compaction` event with the totals. The first line is a header:

    format  integer  of what the totals hold; those of another version are computed again
    covers  array    [name, bytes] of each segment, oldest first; of the last one the beginning, maybe
    end     string   SHA-256 of the last bytes of what is covered, which say which log it is
    bytes   integer  length of the lines behind the header
    hash    string   SHA-256 of them

Everything in it is in the log too: it may be deleted at any time, and one that does not fit its log is passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.events.log.segments import is_compacted, segment_key
from penstock.storage import Storage, StorageLayout, StoredFile

FORMAT: Final = 2
"""Raise it when totals hold more than before, or something else."""

_END_BYTES: Final = 4096

Segments = Sequence[tuple[tuple[int, int], StoredFile]]


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of the beginning of a log: `covers` are the bytes of each segment, by name, oldest first."""

    covers: dict[str, int]
    lines: Sequence[bytes]
    """Without their newlines."""

    def fits(self, segments: Segments) -> bool:
        """Whether the log has grown only, or was compacted, since the totals were made."""
        last = next(reversed(self.covers), "")
        end = segment_key(last)
        covered = [segment for key, segment in segments if end is not None and key <= end]
        if not covered or covered[-1].name != last or covered[-1].size < self.covers[last]:
            return False
        compacted = [segment for segment in covered if segment.name not in self.covers]
        unchanged = all(segment.size == self.covers.get(segment.name, segment.size) for segment in covered[:-1])
        # Only a compaction takes segments away.
        whole = all(is_compacted(each.name) for each in compacted) if compacted else len(covered) == len(self.covers)
        return unchanged and whole

    def uncovered(self, segments: Segments) -> list[tuple[StoredFile, int]]:
        """Returns the segments that go on behind what is covered, and from which byte on."""
        end = segment_key(next(reversed(self.covers), ""))
        rest = [segment for key, segment in segments if end is None or key >= end]
        return [(each, self.covers.get(each.name, 0)) for each in rest if each.size > self.covers.get(each.name, 0)]


def read_totals(storage: Storage, segments: Segments) -> Totals | None:
    """Returns the stored totals of a log, None when there are none that fit it.

    Raises:
        ConfigError: STORAGE_NOT_READABLE.
    """
    try:
        header, _, body = storage.read_bytes(_uri(storage)).partition(b"\n")
        document = json.loads(header)
        totals = Totals({str(name): int(size) for name, size in document["covers"]}, body.split(b"\n")[:-1])
        expected = (FORMAT, len(body), hashlib.sha256(body).hexdigest())
        sound = (document["format"], document["bytes"], document["hash"]) == expected
        fits = sound and totals.fits(segments) and document["end"] == _end(storage, totals)
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return totals if fits else None


def write_totals(storage: Storage, totals: Totals) -> None:
    """Puts totals in the place of those that are stored; a reader sees the ones or the others.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
        ExternalError: STORAGE_FULL, STORAGE_FAILED.
        FileNotFoundError: the log is gone.
    """
    body = b"".join(line + b"\n" for line in totals.lines)
    header: dict[str, Any] = {
        "format": FORMAT,
        "covers": list(totals.covers.items()),
        "end": _end(storage, totals),
        "bytes": len(body),
        "hash": hashlib.sha256(body).hexdigest(),
    }
    storage.write_bytes_atomic(_uri(storage), json.dumps(header).encode() + b"\n" + body)


def _end(storage: Storage, totals: Totals) -> str:
    name, size = next(reversed(totals.covers.items()))
    start = max(size - _END_BYTES, 0)
    read = storage.read_bytes(f"{StorageLayout(storage.uri).events}/{name}", start=start, limit=size - start)
    return hashlib.sha256(read).hexdigest()


def _uri(storage: Storage) -> str:
    return f"{StorageLayout(storage.uri).events}/_totals"
