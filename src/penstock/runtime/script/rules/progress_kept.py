"""What the files of a query's checkpoint and target tell before it starts, where Python can reach them."""

from __future__ import annotations

from penstock.errors import ConfigError
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.stream_notes import is_started
from penstock.storage import Storage


def begins_anew(write: StreamWrite) -> bool:
    """Whether the query is known to start with a new checkpoint; Spark reaches more places than Python does."""
    try:
        return write.checkpoint is not None and not is_started(write.checkpoint)
    except ConfigError:
        return False


def is_reached(path: str | None) -> bool:
    """Whether `path` is on a disk of this machine."""
    try:
        return path is not None and Storage(path).is_local
    except ConfigError:
        return False
