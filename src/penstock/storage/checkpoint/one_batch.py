"""Copies of a checkpoint as it was before or after one of its batches, while the flow may go on.

A query that starts on the former runs that batch again, first; of the latter Spark reads the state.
What a batch reads is in its plan and in the one before; what it begins with, in the commit and the state of the
one before. Nothing else of the offset log is copied. The logs of the sources are whole: a later step is not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.partitions import note_partitions
from penstock.storage.checkpoint.staging import begin_new_query, copy_files
from penstock.storage.checkpoint.state import state_version
from penstock.storage.filesystem import Storage


def repeatable_batches(folder: CheckpointFolder) -> tuple[int, ...]:
    """Returns the finished batches of which a checkpoint still has what they read and began with; not their state."""
    planned, finished = set(folder.numbers("offsets")), set(folder.numbers("commits"))
    both = planned & finished
    return tuple(sorted(each for each in both if each == 0 or each - 1 in both))


def copy_before(folder: CheckpointFolder, batch: int, storage: Storage, uri: str) -> None:
    """Copies a checkpoint to `uri` in `storage` so that `batch`, one of the repeatable ones, is its batch in flight.

    The copy has a query id of its own: no table holds the batch under it. The checkpoint may be in use.

    Raises:
        FileNotFoundError: a file went since the folder was listed: the flow runs, and has cleaned up.
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    copy_files(folder, files_before(folder, batch), storage, uri)
    begin_new_query(storage, uri, batch - 1 if batch else None)


def copy_reads_of(folder: CheckpointFolder, batch: int, storage: Storage, uri: str) -> None:
    """As `copy_before`, without the state: for a query that reads what the batch read, and keeps none.

    Raises:
        FileNotFoundError, ConfigError: as `copy_before`.
    """
    copy_files(folder, _plan_and_sources(folder, batch), storage, uri)
    begin_new_query(storage, uri, batch - 1 if batch else None)


def copy_state_after(folder: CheckpointFolder, batch: int, partitions: int, storage: Storage, uri: str) -> None:
    """Copies to `uri` in `storage` the state, of so many `partitions`, as a finished batch has left it.

    Spark's reader of state asks the plan for the number of partitions, which version 2 of the log lacks.

    Raises:
        FileNotFoundError, ConfigError: as `copy_before`.
    """
    copy_files(folder, files_after(folder, batch), storage, uri)
    note_partitions(Storage(uri), batch, partitions)


def files_before(folder: CheckpointFolder, batch: int) -> Iterator[str]:
    """Yields the files that `batch` takes to run again: of its plan, of what it reads, and of its state."""
    yield from _plan_and_sources(folder, batch)
    yield from _state(folder, batch)


def files_after(folder: CheckpointFolder, batch: int) -> Iterator[str]:
    """Yields the files of the state that `batch` has left, and of the logs that belong to it."""
    yield from (f"offsets/{batch}", f"commits/{batch}")
    yield from _state(folder, batch + 1)


def _plan_and_sources(folder: CheckpointFolder, batch: int) -> Iterator[str]:
    logs = {f"offsets/{batch}", f"offsets/{batch - 1}", f"commits/{batch - 1}"}
    yield from (name for name in folder.files if name in logs or name.startswith("sources/"))


def _state(folder: CheckpointFolder, newest: int) -> Iterator[str]:
    """All of the state up to a version; a version is made of older ones."""
    for name in folder.files:
        version = state_version(name)
        if name.startswith("state/") and (version is None or version <= newest):
            yield name
