"""Takes a checkpoint back to an earlier batch, so that the ones after it are planned and done again.

What the next batches read follows from the newest offsets, so everything of later batches goes: their offsets and
commits, and the state that they made, of which a stale snapshot would be loaded instead of what is computed again.
The logs of file sources stay: their later steps count as found and not yet read.
"""

from __future__ import annotations

import json

from penstock.storage.checkpoint.folder import REWINDING, CheckpointFolder
from penstock.storage.checkpoint.identity import begin_new_query
from penstock.storage.checkpoint.staging import StagedCheckpoint
from penstock.storage.checkpoint.state import state_version
from penstock.storage.filesystem import Storage


def note_rewind(folder: CheckpointFolder, batch: int) -> None:
    """Writes into a checkpoint that it and its tables are about to go back to `batch`: no run may come in between.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    folder.storage.write_text_atomic(REWINDING, json.dumps({"batch": batch}))


def forget_rewind(folder: CheckpointFolder) -> None:
    """Takes the note away, when nothing has been changed."""
    folder.storage.delete(REWINDING)


def rewind(storage: Storage, folder: CheckpointFolder, batch: int) -> str:
    """Puts a copy that ends with `batch` in the place of a checkpoint; returns where that is kept.

    The copy has a query id of its own: under the old one its table would take the batches that come for those that
    it has held. When the process dies, the old one is there with its note, or the new one without; the caller holds
    the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    staged = StagedCheckpoint.begin(storage, folder.uri)
    staged.copy(folder, (name for name in folder.files if name != REWINDING and _is_before(name, batch)))
    begin_new_query(storage, staged.uri, batch)
    staged.take_place()
    return staged.previous


def _is_before(name: str, batch: int) -> bool:
    """Whether a file is of `batch` or an earlier one, or of the checkpoint as a whole."""
    log, _, number = name.partition("/")
    if log in {"offsets", "commits"} and number.isdecimal():
        return int(number) <= batch
    version = state_version(name)
    return version is None or version <= batch + 1
