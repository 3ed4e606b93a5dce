"""Deletes or moves source files whose rows are in the table.

The checkpoint proves that: a batch is in `commits` after its rows were written. When that was is noted beside the
schemas, because Spark keeps no old commits. Each step can be repeated, so a process may die at any of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from penstock.errors import PenstockError
from penstock.spark.sources.auto_loader.options.clean_source import SINK_LOG, CleanMode, CleanSource
from penstock.storage import Storage
from penstock.storage.checkpoint.committed_files import committed_step, files_of_steps
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_query_id
from penstock.storage.checkpoint.planned_files import PlannedFile

_NOTES: Final = "_cleaned_files"
_NOTES_A_RETENTION: Final = 100  # a file goes so much later at most, and the notes stay short


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What one call has done: how many files are gone, and the reason why it did not go on, if there is one.

    `changed` are files that are no longer what was read: they were not read, so they stay.
    """

    files: int = 0
    changed: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class _Notes:
    """`committed` has pairs of a step and when, in seconds since 1970, all steps up to it were known as committed.

    `cleaned` is the last step all files of which are gone. Both are of the query `query`.
    """

    query: str
    cleaned: int = -1
    committed: tuple[tuple[int, float], ...] = ()


def clean_source(
    how: CleanSource,
    *,
    checkpoint: str,
    source: str,
    notes_location: str,
    stopped: Callable[[], bool],
    now: Callable[[], float] = time.time,
) -> Cleaned:
    """Deletes or moves the files that `source` has read long enough ago; called between the batches of a query.

    It never touches a file that was changed after it was read.

    Raises:
        PenstockError: the checkpoint cannot be read, or the notes not be written.
    """
    storage = Storage(notes_location)
    try:
        notes = _read_notes(storage, parse_query_id(Storage(checkpoint).read_bytes("metadata")))
        last = committed_step(checkpoint, source)
    except (FileNotFoundError, DamagedFile, UnknownVersion):
        return Cleaned()
    if last is None or last <= notes.cleaned:
        return Cleaned()
    if Storage(how.base).list(SINK_LOG):
        return Cleaned(failure=f"a file sink of Spark writes {how.base}, and its log {SINK_LOG} names the files")
    before = notes
    notes = _with_committed(notes, last, now(), how.retention)
    due = max((step for step, known in notes.committed if known + how.retention <= now()), default=-1)
    done, files, changed, failure = notes.cleaned, 0, list[str](), None
    try:
        for step, found in files_of_steps(checkpoint, source, notes.cleaned + 1, due):
            for file in found:
                if stopped():
                    break
                outcome = _clean(how, file)
                files += outcome is True
                changed += [file.path] if outcome is None else []
            if stopped():
                break  # the next call goes on with this step
            done = step
    except (DamagedFile, UnknownVersion, OSError, PenstockError) as error:
        failure = str(error)
    notes = replace(notes, cleaned=done, committed=tuple(pair for pair in notes.committed if pair[0] > done))
    if notes != before:
        storage.write_text_atomic(_NOTES, json.dumps({**asdict(notes), **_archive(how)}) + "\n")
    return Cleaned(files, tuple(changed), failure)


def _clean(how: CleanSource, file: PlannedFile) -> bool | None:
    """Whether the file went now; None when it holds something else than what was read."""
    storage = Storage(how.base)
    present = storage.find(file.path)
    if present is None:
        return False
    if not file.is_as_listed(present.modified):
        return None
    if how.mode is CleanMode.DELETE:
        storage.delete(file.path)
    else:
        storage.move_file(file.path, _free_place(how, file, storage))
    return True


def _free_place(how: CleanSource, file: PlannedFile, storage: Storage) -> str:
    """Where the file goes: under its own path, and when something is there, with its time in the name."""
    inside = file.path.removeprefix(f"{how.base}/") if file.path.startswith(f"{how.base}/") else file.path.lstrip("/")
    place = f"{how.destination}/{inside}"
    return place if storage.find(place) is None else f"{place}.{file.listed_ms}"


def _with_committed(notes: _Notes, last: int, now: float, retention: int) -> _Notes:
    # Steps beyond the last one are of a checkpoint that was set back.
    pairs = tuple(pair for pair in notes.committed if pair[0] <= last)
    if not pairs or (pairs[-1][0] < last and now - pairs[-1][1] >= retention / _NOTES_A_RETENTION):
        pairs = (*pairs, (last, now))
    return replace(notes, committed=pairs)


def _read_notes(storage: Storage, query: str) -> _Notes:
    """A checkpoint of another query, as after a full refresh, has steps of its own."""
    try:
        document = json.loads(storage.read_text(_NOTES))
        notes = _Notes(
            str(document["query"]),
            int(document["cleaned"]),
            tuple((int(step), float(known)) for step, known in document["committed"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # without notes, files go later
        return _Notes(query)
    return notes if notes.query == query else _Notes(query)


def _archive(how: CleanSource) -> dict[str, Any]:
    """What `penstock sql` says of the files that are gone."""
    return {"archive_mode": how.mode.value, "base": how.base, "move_location": how.destination}
