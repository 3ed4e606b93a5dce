"""Which versions of Delta tables the flows of a storage have still to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.source_offsets import newest_batch, newest_offsets
from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout


def pending_versions(layout: StorageLayout) -> dict[str, int]:
    """Returns, by a table's own id, the oldest version that the newest checkpoint of some flow still names.

    Also of flows that the pipeline no longer declares: one day they may be declared again. A batch that was planned
    and not finished is read again, so that the end of the batch before counts, too.
    """
    storage = Storage(layout.uri)
    oldest: dict[str, int] = {}
    for flow in _flow_folders(storage, f"{layout.uri}/checkpoints"):
        generations = numbers_in(storage, flow)
        for offset in _beginnings(storage, f"{flow}/{generations[-1]}") if generations else ():
            if isinstance(offset, dict) and "reservoirId" in offset and "reservoirVersion" in offset:
                table, version = str(offset["reservoirId"]), int(offset["reservoirVersion"])
                oldest[table] = min(version, oldest.get(table, version))
    return oldest


def _beginnings(storage: Storage, checkpoint: str) -> Iterator[Any]:
    """Yields where the flow's next batches begin, or may begin."""
    newest = newest_batch(checkpoint)
    yield from newest_offsets(checkpoint).values()
    if newest is not None and not storage.exists(f"{checkpoint}/commits/{newest}"):
        yield from newest_offsets(checkpoint, back=1).values()


def _flow_folders(storage: Storage, root: str) -> Iterator[str]:
    """Yields checkpoints/<schema>/<name>/<flow>."""
    level = [root]
    for _ in range(3):
        level = [entry.uri for folder in level for entry in storage.list(folder) if entry.is_directory]
    yield from level
