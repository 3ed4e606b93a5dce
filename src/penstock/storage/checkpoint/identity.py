"""A checkpoint's query id, under which its table notes each batch."""

from __future__ import annotations

import json
import uuid

from penstock.storage.checkpoint.folder import INHERITED, checksum_of
from penstock.storage.filesystem import Storage


def begin_new_query(storage: Storage, place: str, committed: int | None) -> None:
    """Gives the checkpoint at `place` another query id, and notes which batches its table holds under the old one."""
    for name in ("metadata", INHERITED):
        storage.delete(f"{place}/{checksum_of(name)}")
    storage.write_text_atomic(f"{place}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    storage.write_text_atomic(f"{place}/{INHERITED}", json.dumps({"batch": committed}))
