"""Makes a lost checkpoint again from what is known of its newest batches. Only for a query without state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from penstock.storage.checkpoint.logs import OFFSET_LOG_VERSION
from penstock.storage.checkpoint.sources import is_topic_offset
from penstock.storage.exchange import exchange
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
    would begin each anew. Where a topic was begun is set to the oldest offsets that are known: Spark looks at it only
    without any newer ones. What stands at `place` is kept beside it. When the process dies, nothing is there,
    or everything; the caller holds the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    flow = place.rpartition("/")[0]
    for left_over in storage.list(flow):
        if ".restoring-" in left_over.name:
            storage.delete(left_over.uri)
    staged = f"{place}.restoring-{stamp}"
    storage.write_text_atomic(f"{staged}/metadata", _json({"id": query_id}))
    begun = batches[min(batches)]
    for source in (source for source, offset in begun.items() if is_topic_offset(offset)):
        storage.write_text_atomic(f"{staged}/sources/{source}/0", f"\0v1\n{_json(begun[source])}")
    for number, offsets in batches.items():
        conf = dict(settings)
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": conf, "sourceMetadataInfo": {}}
        lines = [OFFSET_LOG_VERSION, _json(metadata), *(f"{source}:{_line(offsets[source])}" for source in offsets)]
        storage.write_text_atomic(f"{staged}/offsets/{number}", "\n".join(lines))
        storage.write_text_atomic(f"{staged}/commits/{number}", f"v1\n{_json({'nextBatchWatermarkMs': 0})}")
    exchange(storage, place, aside=f"{place}.before-{stamp}", staged=staged)


def _line(offset: Any) -> str:
    return "-" if offset is None else _json(offset)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
