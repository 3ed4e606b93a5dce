"""The text files of a checkpoint, as Spark 4.2 writes them: a line with the format's version, then JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

OFFSET_LOG_VERSION: Final = "v2"
"""The version that names sources; `v1` counts them by position."""

VOID_OFFSET: Final = "-"
EARLIER_PLAN: Final = "holds the plan of an earlier batch"
"""What is wrong with a file of `offsets/` whose batch repeats the one before; see `PlannedBatch.repeats`."""

_OFFSET_VERSIONS = frozenset({"v1", OFFSET_LOG_VERSION})
_COMMIT_VERSIONS = frozenset({"v1", "v2"})
_SOURCE_VERSIONS = frozenset({"v1"})


class DamagedFile(ValueError):
    """A file does not hold what Spark writes; the text says why, as the end of "it …"."""


class UnknownVersion(ValueError):
    """A file's version line is of another Spark; the text is that line."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """One file of `offsets/`: what a batch reads, up to where.

    `settings` are the session settings that belong to the checkpoint. `offsets` has the end of each source's
    range by the source's name, or by its position in a version 1 log; None when the source has none.
    """

    version: str
    watermark_ms: int
    planned_ms: int
    settings: Mapping[str, str]
    offsets: Mapping[str, Any]

    def repeats(self, before: PlannedBatch) -> bool:
        """Whether this is the plan of `before`, or an older one, in the place of the batch after it.

        Clocks are set back, and topics begin again; both at once do not make a plan older than the one before. One
        that `penstock checkpoint rebuild` has written has no time.
        """
        if not self.planned_ms or not before.planned_ms:
            return False
        if self.planned_ms == before.planned_ms:
            return (self.offsets, self.watermark_ms) == (before.offsets, before.watermark_ms)
        return self.planned_ms < before.planned_ms and _goes_back(self.offsets, before.offsets)


def parse_planned_batch(content: bytes) -> PlannedBatch:
    """Reads a file of `offsets/`.

    Raises:
        DamagedFile: it is empty, ends early, or holds something else.
        UnknownVersion: another Spark wrote it.
    """
    version, lines = versioned_lines(content, _OFFSET_VERSIONS)
    if len(lines) < 2:
        raise DamagedFile("ends before the offsets")
    metadata = json_object(lines[0])
    settings = metadata.get("conf", {})
    if not isinstance(settings, dict):
        raise DamagedFile("holds settings of another form")
    offsets: dict[str, Any] = {}
    for position, line in enumerate(lines[1:]):
        name, text = str(position), line
        if version == OFFSET_LOG_VERSION:
            name, colon, text = line.partition(":")
            if not colon or not name or name in offsets:
                raise DamagedFile("holds a line that is no offset")
        offsets[name] = None if text == VOID_OFFSET else _value(text)
    return PlannedBatch(
        version,
        _number(metadata, "batchWatermarkMs"),
        _number(metadata, "batchTimestampMs"),
        {str(key): str(value) for key, value in settings.items()},
        offsets,
    )


def parse_commit(content: bytes) -> int:
    """Reads a file of `commits/` and returns the watermark of the next batch, in milliseconds since 1970.

    Raises:
        DamagedFile, UnknownVersion: as `parse_planned_batch`.
    """
    _, lines = versioned_lines(content, _COMMIT_VERSIONS)
    if len(lines) != 1:
        raise DamagedFile("ends after its first line" if not lines else "has lines that do not belong to it")
    return _number(json_object(lines[0]), "nextBatchWatermarkMs")


def parse_query_id(content: bytes) -> str:
    """Reads the file `metadata`: the query's id, under which its target notes each batch.

    Raises:
        DamagedFile: it is empty, ends early, or holds something else.
    """
    document = json_object(_text(content))
    try:
        return str(UUID(str(document["id"])))
    except (KeyError, ValueError) as error:
        raise DamagedFile("holds no query id") from error


def parse_source_step(content: bytes, step: int) -> tuple[Any, ...]:
    """Reads a file of `sources/<source>/` by its number, also a compacted one.

    Raises:
        DamagedFile: as `parse_source_log`, or it is another step of a file source.
        UnknownVersion: as `parse_planned_batch`.
    """
    entries = parse_source_log(content)
    steps = [entry["batchId"] for entry in entries if isinstance(entry, dict) and "batchId" in entry]
    if steps and max(steps) != step:
        raise DamagedFile(f"holds step {max(steps)}")
    return entries


def parse_source_log(content: bytes) -> tuple[Any, ...]:
    """Reads a file of `sources/<source>/`: the files of one step of a file source, or where another source began.

    Raises:
        DamagedFile, UnknownVersion: as `parse_planned_batch`.
    """
    return tuple(reversed(tuple(newest_entries(content))))


def newest_entries(content: bytes) -> Iterator[Any]:
    """Yields what `parse_source_log` returns, the last entry first: the end of a long log alone is read quickly.

    Raises:
        DamagedFile, UnknownVersion: as `parse_planned_batch`.
    """
    # Kafka's begins with a zero byte: old versions of Spark shall not take it for a log of their own.
    _, lines = versioned_lines(content.removeprefix(b"\0"), _SOURCE_VERSIONS)
    if not lines:
        raise DamagedFile("ends after its first line")
    yield from (_value(line) for line in reversed(lines))


def versioned_lines(content: bytes, known: frozenset[str]) -> tuple[str, list[str]]:
    """Returns the version and the lines behind it; raises DamagedFile, or UnknownVersion for one not in `known`."""
    version, newline, rest = _text(content).partition("\n")
    if version not in known:
        if version.startswith("v") and version[1:].isdecimal():
            raise UnknownVersion(version)
        raise DamagedFile("does not begin with a version")
    if not newline:
        raise DamagedFile("ends after its first line")
    return version, rest.removesuffix("\n").split("\n") if rest else []


def _text(content: bytes) -> str:
    if not content:
        raise DamagedFile("is empty")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise DamagedFile("holds bytes that are no text") from error


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DamagedFile("holds a line that is no JSON, or ends in the middle of it") from error


def json_object(text: str) -> dict[str, Any]:
    """Returns a JSON object; raises DamagedFile for anything else."""
    value = _value(text)
    if not isinstance(value, dict):
        raise DamagedFile("holds JSON of another form")
    return value


def _goes_back(offset: Any, before: Any) -> bool:
    """Whether a number of an offset is lower than before, and none is higher."""
    numbers = [(new, old) for new, old in _pairs(offset, before) if new != old]
    return bool(numbers) and all(new < old for new, old in numbers)


def _pairs(offset: Any, before: Any) -> Iterator[tuple[int, int]]:
    if isinstance(offset, Mapping) and isinstance(before, Mapping):
        for key in offset.keys() & before.keys():
            yield from _pairs(offset[key], before[key])
    elif isinstance(offset, int) and isinstance(before, int):
        yield offset, before


def _number(document: Mapping[str, Any], key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise DamagedFile(f"holds no {key}")
    return value
