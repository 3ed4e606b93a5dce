"""The files of a batch that was planned and not committed, and what has become of them since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from penstock.storage.checkpoint.folder import numbers_in, replace_file
from penstock.storage.checkpoint.logs import parse_planned_batch, parse_source_log
from penstock.storage.checkpoint.plan_file import compact_json
from penstock.storage.filesystem import Storage, can_open
from penstock.storage.local_disk import local_path

_SAME_MILLISECONDS = 2  # a float of seconds since 1970 does not keep them exactly
_SAME_SECOND = 1000  # all that an object store keeps


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that a batch shall read: where, and its time of modification when it was listed, in ms since 1970.

    One that `may_change` is read as it is then.
    """

    path: str
    listed_ms: int
    may_change: bool = False

    def is_as_listed(self, modified: float | None) -> bool:
        """Whether a file that was modified at that time, in seconds since 1970, is the one that was listed."""
        if modified is None or self.may_change:
            return True
        tolerance = _SAME_SECOND if "://" in self.path else _SAME_MILLISECONDS
        return abs(modified * 1000 - self.listed_ms) < tolerance


def planned_file(entry: Mapping[str, Any]) -> PlannedFile:
    """Returns the file of an entry in a source's log."""
    return PlannedFile(_path(entry["path"]), int(entry["timestamp"]))


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Paths of planned files that are gone, or hold something else than when they were listed."""

    deleted: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.deleted or self.overwritten)

    def __str__(self) -> str:
        """The files in words, a few of them by name."""
        said = [_few(paths, word) for paths, word in ((self.deleted, "deleted"), (self.overwritten, "overwritten"))]
        return "; ".join(text for text in said if text)


def planned_files(checkpoint_uri: str, overwritable: Collection[str] = ()) -> tuple[PlannedFile, ...]:
    """Returns the files of file sources in the newest batch when that is not committed; else none.

    Those of the sources `overwritable` may change.

    Raises:
        DamagedFile, UnknownVersion: the checkpoint cannot be read.
    """
    checkpoint = Storage(checkpoint_uri)
    return tuple(
        replace(file, may_change=source in overwritable)
        for source, step in _planned_steps(checkpoint)
        for file in _files_of(checkpoint, source, step)
    )


def planned_uris(checkpoint_uri: str, source: str) -> tuple[str, ...]:
    """Returns the URIs of the files of one source among the `planned_files`, not encoded."""
    checkpoint = Storage(checkpoint_uri)
    steps = [step for name, step in _planned_steps(checkpoint) if name == source]
    paths = dict.fromkeys(file.path for step in steps for file in _files_of(checkpoint, source, step))
    return tuple(path if "://" in path else f"file://{path}" for path in paths)


def list_planned_files_again(checkpoint_uri: str, sources: Collection[str]) -> None:
    """Gives the planned files of some sources the time at which they were modified now, so that it counts as read.

    Called while no query uses the checkpoint, for a batch whose rows are in no target. A file that is gone stays.

    Raises:
        DamagedFile, UnknownVersion: the checkpoint cannot be read.
    """
    checkpoint = Storage(checkpoint_uri)
    for source, step in _planned_steps(checkpoint):
        name = _log_of(checkpoint, source, step) if source in sources else None
        if name is None:
            continue
        content = checkpoint.read_bytes(name)
        entries = parse_source_log(content)
        now = [_listed_now(entry) if entry["batchId"] == step else entry for entry in entries]
        if now != list(entries):
            version = content.decode().partition("\n")[0]
            replace_file(checkpoint, name, "\n".join([version, *map(compact_json, now)]))


def changed_files(files: tuple[PlannedFile, ...]) -> ChangedFiles:
    """Compares planned files with what is stored now; lists each of their folders once.

    What only Spark can reach is taken to be as it was listed: Spark says itself when a file is gone.
    """
    files = tuple(file for file in files if can_open(file.path))
    now: dict[str, float | None] = {}
    for folder in {file.path.rpartition("/")[0] for file in files}:
        storage = Storage(folder)
        now |= {f"{folder}/{file.name}": file.modified for file in storage.list() if not file.is_directory}
    deleted = [file.path for file in files if file.path not in now]
    overwritten = [file.path for file in files if file.path in now and not file.is_as_listed(now[file.path])]
    return ChangedFiles(tuple(deleted), tuple(overwritten))


def file_steps(offsets: Mapping[str, Any]) -> dict[str, int]:
    """Returns the last step of each file source among the offsets of a batch."""
    return {
        source: int(offset["logOffset"])
        for source, offset in offsets.items()
        if isinstance(offset, dict) and "logOffset" in offset
    }


def _planned_steps(checkpoint: Storage) -> Iterator[tuple[str, int]]:
    """Yields the steps of file sources that the newest batch reads, when that is not committed."""
    planned = numbers_in(checkpoint, "offsets")
    if not planned or checkpoint.exists(f"commits/{planned[-1]}"):
        return
    ends, starts = (
        file_steps(parse_planned_batch(checkpoint.read_bytes(f"offsets/{batch}")).offsets) if batch is not None else {}
        for batch in (planned[-1], planned[-2] if len(planned) > 1 else None)
    )
    for source, end in ends.items():
        for step in range(starts.get(source, -1) + 1, end + 1):
            yield source, step


def _files_of(checkpoint: Storage, source: str, step: int) -> list[PlannedFile]:
    name = _log_of(checkpoint, source, step)
    entries = () if name is None else parse_source_log(checkpoint.read_bytes(name))
    return [planned_file(entry) for entry in entries if entry["batchId"] == step]


def _log_of(checkpoint: Storage, source: str, step: int) -> str | None:
    names = (f"sources/{source}/{step}", f"sources/{source}/{step}.compact")
    return next((name for name in names if checkpoint.exists(name)), None)


def _listed_now(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    file = planned_file(entry)
    present = Storage(file.path.rpartition("/")[0]).find(file.path)
    if present is None or file.is_as_listed(present.modified):
        return entry
    # A float of seconds since 1970 does not keep milliseconds exactly, and Spark cuts off what is behind them.
    microseconds = round((present.modified or 0) * 10**6)
    return {**entry, "timestamp": microseconds // 1000}


def _path(uri: str) -> str:
    """A local file's path, or the URI; Spark writes both encoded."""
    return local_path(unquote(uri))


def _few(paths: tuple[str, ...], word: str) -> str:
    if not paths:
        return ""
    shown = ", ".join(paths[:3])
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{word}: {shown}{more}"
