"""A query's id stands in one checkpoint only: a copy would take the other one's batches for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from penstock.errors import StateError
from penstock.observe.checkpoints.inventory import StoredCheckpoint
from penstock.storage.checkpoint import DamagedFile


def check(checkpoint: StoredCheckpoint, everything: Sequence[StoredCheckpoint]) -> Iterator[StateError]:
    """Yields CHECKPOINT_SHARED for each other checkpoint of the storage with the same id."""
    query_id = _id(checkpoint)
    for other in everything:
        if query_id is not None and other.folder.uri != checkpoint.folder.uri and _id(other) == query_id:
            yield checkpoint.refusal(
                "CHECKPOINT_SHARED",
                path=checkpoint.folder.uri,
                other=other.folder.uri,
                query_id=query_id,
            )


def _id(checkpoint: StoredCheckpoint) -> str | None:
    with suppress(DamagedFile, FileNotFoundError):
        return checkpoint.folder.query_id()
    return None
