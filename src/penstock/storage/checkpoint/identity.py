"""A checkpoint's query id, under which its table notes each batch."""

from __future__ import annotations

import json
import uuid

from penstock.storage.checkpoint.folder import INHERITED, replace_file
from penstock.storage.filesystem import Storage


def begin_new_query(storage: Storage, place: str, committed: int | None) -> None:
    """Gives the checkpoint at `place` another query id, and notes which batches its table holds under the old one."""
    replace_file(storage, f"{place}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    replace_file(storage, f"{place}/{INHERITED}", json.dumps({"batch": committed}))
