"""A query's id is in one checkpoint only: a copy would take the other one's batches for its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError


def check(checkpoint: StoredCheckpoint, query_ids: Mapping[str, str | None]) -> Iterator[StateError]:
    """Yields CHECKPOINT_SHARED for each other checkpoint with the same id; `query_ids` has those of all by folder."""
    own = checkpoint.folder.uri
    query_id = query_ids[own]
    for other, its_id in query_ids.items():
        if query_id is not None and other != own and its_id == query_id:
            yield checkpoint.refusal("CHECKPOINT_SHARED", path=own, other=other, query_id=query_id)
