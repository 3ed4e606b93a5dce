"""A copy of a checkpoint as it was before one of its batches: a query that starts on it runs that batch again, first.

What a batch reads stands in its plan and in the one before; what it begins with, in the commit and the state of the
one before. Nothing else of the offset log is copied. The logs of the sources are whole: a later step is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.storage.checkpoint.copying import copy_files
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.identity import begin_new_query
from penstock.storage.checkpoint.state import state_version
from penstock.storage.filesystem import Storage


def repeatable_batches(folder: CheckpointFolder) -> tuple[int, ...]:
    """Returns the finished batches of which a checkpoint still tells what they read and began with; not their state."""
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
    copy_files(folder, _needed(folder, batch), storage, uri)
    begin_new_query(storage, uri, batch - 1 if batch else None)


def _needed(folder: CheckpointFolder, batch: int) -> Iterator[str]:
    logs = {f"offsets/{batch}", f"offsets/{batch - 1}", f"commits/{batch - 1}"}
    for name in folder.files:
        version = state_version(name)
        is_before = version is None or version <= batch
        if name in logs or name.startswith("sources/") or (name.startswith("state/") and is_before):
            yield name
