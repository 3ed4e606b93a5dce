"""The counters that a JVM of this machine publishes in a file: its heap and its garbage collection."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDERS: Final = Path("/tmp")  # noqa: S108 - where HotSpot puts it, whatever java.io.tmpdir says
_MAGIC: Final = b"\xca\xfe\xc0\xc0"
_LONG: Final = ord("J")
_ENTRY: Final = 20
_LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class JvmMemory:
    """The old generation of a JVM's heap in bytes, the JVM's age, and the part of it that was garbage collection."""

    old_used: int
    old_limit: int
    gc_seconds: float
    seconds: float


def jvm_memory(pid: int, folders: Path = _FOLDERS) -> JvmMemory | None:
    """Returns what the JVM with this process id says of its memory; None of a process that says nothing."""
    for file in folders.glob(f"hsperfdata_*/{pid}"):
        try:
            content = file.read_bytes()[:_LARGEST]
            return _memory(dict(_counters(content)))
        except (OSError, struct.error, KeyError, ZeroDivisionError, UnicodeDecodeError):
            continue  # it ends at this moment, or it is none of HotSpot's
    return None


def _memory(counters: dict[str, int]) -> JvmMemory:
    spent = sum(
        value for name, value in counters.items() if name.startswith("sun.gc.collector.") and name.endswith(".time")
    )
    frequency = counters["sun.os.hrt.frequency"]
    return JvmMemory(
        old_used=counters["sun.gc.generation.1.space.0.used"],
        old_limit=counters["sun.gc.generation.1.maxCapacity"],
        gc_seconds=spent / frequency,
        seconds=counters["sun.os.hrt.ticks"] / frequency,
    )


def _counters(content: bytes) -> Iterator[tuple[str, int]]:
    """Yields the counters that are whole numbers, as the header and the entries of the file lay them out."""
    if content[:4] != _MAGIC:
        return
    order = "<" if content[4] else ">"
    offset, entries = struct.unpack_from(f"{order}ii", content, 24)
    for _ in range(entries):
        length, name_at, vector = struct.unpack_from(f"{order}iii", content, offset)
        data_at = struct.unpack_from(f"{order}i", content, offset + 16)[0]
        if length < _ENTRY:
            return
        if content[offset + 12] == _LONG and vector == 0:
            start = offset + name_at
            name = content[start : content.index(0, start)].decode("ascii")
            yield name, struct.unpack_from(f"{order}q", content, offset + data_at)[0]
        offset += length
