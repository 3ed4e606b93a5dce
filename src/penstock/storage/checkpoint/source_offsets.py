"""Up to where each source of a query was read, and how to make it go on elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.storage.checkpoint.folder import numbers_in, replace_file
from penstock.storage.checkpoint.logs import (
    OFFSET_LOG_VERSION,
    VOID_OFFSET,
    DamagedFile,
    UnknownVersion,
    parse_planned_batch,
)
from penstock.storage.filesystem import Storage


def newest_batch(checkpoint_uri: str) -> int | None:
    """Returns the newest batch that was planned; None before the first."""
    return max(numbers_in(Storage(checkpoint_uri), "offsets"), default=None)


def newest_offsets(checkpoint_uri: str, *, back: int = 0) -> Mapping[str, Any]:
    """Returns up to where the newest batch reads each source, or an earlier one, so many `back`.

    Empty when the checkpoint does not have them.
    """
    checkpoint = Storage(checkpoint_uri)
    planned = numbers_in(checkpoint, "offsets")
    try:
        return parse_planned_batch(checkpoint.read_bytes(f"offsets/{planned[-1 - back]}")).offsets
    except (IndexError, DamagedFile, UnknownVersion):
        return {}


def move_source(checkpoint_uri: str, source: str, offset: Mapping[str, Any] | None) -> bool:
    """Makes the next start read a source from `offset` on, or with None from its beginning.

    Called while no query uses the checkpoint. Nothing happens when the newest batch is not committed, because its
    rows are still wanted. On its start Spark asks a source for the newest batch again, so the batch before that is
    given the same offset: there are no rows between the two. Returns whether anything was written; a process
    that dies in between leaves a checkpoint on which it can be called again.
    """
    checkpoint = Storage(checkpoint_uri)
    planned = numbers_in(checkpoint, "offsets")
    if not planned or not checkpoint.exists(f"commits/{planned[-1]}"):
        return False
    text = VOID_OFFSET if offset is None else json.dumps(dict(offset), separators=(",", ":"))
    written = [_rewrite(checkpoint, batch, source, text) for batch in planned[-2:]]
    return all(written)


def _rewrite(checkpoint: Storage, batch: int, source: str, offset: str) -> bool:
    version, newline, rest = checkpoint.read_text(f"offsets/{batch}").partition("\n")
    if version != OFFSET_LOG_VERSION:
        return False
    lines = [f"{source}:{offset}" if line.startswith(f"{source}:") else line for line in rest.split("\n")]
    replace_file(checkpoint, f"offsets/{batch}", version + newline + "\n".join(lines))
    return True
