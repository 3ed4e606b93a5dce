"""Makes a lost checkpoint again from what is known of its newest batches. Only for a query without state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.storage.checkpoint.logs import OFFSET_LOG_VERSION
from penstock.storage.checkpoint.sources import is_topic_offset
from penstock.storage.checkpoint.staging import StagedCheckpoint
from penstock.storage.filesystem import Storage


def rebuild(
    storage: Storage,
    place: str,
    query_id: str,
    batches: Mapping[int, Mapping[str, Any]],
    settings: Mapping[str, str],
) -> None:
    """Writes a checkpoint whose newest finished batches are `batches`, by number, with the end offsets by source.

    Spark reads the newest two. It does not know its sources by name without the `settings` of the old checkpoint, and
    would begin each again. Where a topic was begun is set to the oldest offsets that are known: Spark looks at it only
    without any newer ones. What is at `place` is kept beside it. When the process dies, nothing is there,
    or everything; the caller holds the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    staged = StagedCheckpoint.begin(storage, place)
    files = staged.files
    files.write_text_atomic("metadata", _json({"id": query_id}))
    begun = batches[min(batches)]
    for source in (source for source, offset in begun.items() if is_topic_offset(offset)):
        files.write_text_atomic(f"sources/{source}/0", f"\0v1\n{_json(begun[source])}")
    for number, offsets in batches.items():
        conf = dict(settings)
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": conf, "sourceMetadataInfo": {}}
        lines = [OFFSET_LOG_VERSION, _json(metadata), *(f"{source}:{_line(offsets[source])}" for source in offsets)]
        files.write_text_atomic(f"offsets/{number}", "\n".join(lines))
        files.write_text_atomic(f"commits/{number}", f"v1\n{_json({'nextBatchWatermarkMs': 0})}")
    staged.take_place()


def _line(offset: Any) -> str:
    return "-" if offset is None else _json(offset)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
