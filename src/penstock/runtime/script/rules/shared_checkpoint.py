"""Two queries with one checkpoint: each would take the other's progress for its own, and lose or repeat rows."""

from __future__ import annotations

from penstock.errors import StateError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite


def shared_checkpoint(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses the second one; the same query may start again when it has ended."""
    if write.checkpoint is None:
        return write
    for other, runs in starting.earlier():
        if _place(other) == _place(write) and (runs or other.target != write.target):
            raise StateError(
                "QUERY_CHECKPOINT_SHARED",
                location=write.location,
                dataset=str(write.dataset),
                query=write.name,
                path=write.checkpoint,
                other=other.name,
                first=other.location,
            )
    return write


def _place(write: StreamWrite) -> str:
    place = (write.checkpoint or "").removeprefix("file:").rstrip("/")
    return place.replace("s3a://", "s3://", 1)  # two names of one store
