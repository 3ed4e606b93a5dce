"""Takes a checkpoint back to an earlier batch, so that the ones after it are planned and done again.

What the next batches read is told by the newest offsets, so everything of later batches goes: their offsets and
commits, and the state that they made, of which a stale snapshot would be loaded instead of what is computed anew.
The logs of file sources stay: their later steps count as found and not yet read.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from penstock.storage.checkpoint.folder import REWINDING, CheckpointFolder, checksum_of
from penstock.storage.checkpoint.identity import begin_new_query
from penstock.storage.checkpoint.state import state_version
from penstock.storage.exchange import exchange
from penstock.storage.filesystem import Storage

_STAGED: Final = ".restoring-"
_KEPT: Final = ".before-"


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
    flow, _, generation = folder.uri.rpartition("/")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    for left_over in storage.list(flow):
        if _STAGED in left_over.name:
            storage.delete(left_over.uri)
    staged, aside = f"{flow}/{generation}{_STAGED}{stamp}", f"{flow}/{generation}{_KEPT}{stamp}"
    for name in folder.files:
        if name != REWINDING and _is_before(name, batch):
            for each in (name, checksum_of(name)) if name in folder.checksums else (name,):
                with storage.create(f"{staged}/{each}") as copy:
                    left = memoryview(folder.storage.read_bytes(each))
                    while left:  # a disk that is getting full takes a part without an error
                        left = left[copy.write(left) :]
    begin_new_query(storage, staged, batch)
    exchange(storage, folder.uri, aside=aside, staged=staged)
    return aside


def _is_before(name: str, batch: int) -> bool:
    """Whether a file is of `batch` or an earlier one, or of the checkpoint as a whole."""
    log, _, number = name.partition("/")
    if log in {"offsets", "commits"} and number.isdecimal():
        return int(number) <= batch
    version = state_version(name)
    return version is None or version <= batch + 1
