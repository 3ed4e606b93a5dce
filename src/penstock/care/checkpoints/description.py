"""What one checkpoint says: `penstock checkpoint show`."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from penstock.care.checkpoints.inventory import Inventory, StoredCheckpoint
from penstock.errors import StateError
from penstock.events.codec import format_timestamp
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile, PlannedBatch, UnknownVersion, parse_source_log
from penstock.storage.checkpoint.state import OperatorState, operators

BATCHES_SHOWN: Final = 5
_UNREADABLE = (FileNotFoundError, DamagedFile, UnknownVersion)
_STATE_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def describe(inventory: Inventory, checkpoint: StoredCheckpoint) -> dict[str, Any]:
    """Returns what a checkpoint says, ready for JSON; what cannot be read is None, `verify` says why.

    `offsets` of a batch are Spark's own: for Kafka the next offset of each partition by topic, for a Delta table
    `reservoirVersion` and `index`, for a file source `logOffset`, to which `files` adds how many files that step
    of it took.
    """
    folder = checkpoint.folder
    query_id = folder.known_query_id()
    planned = {number: _planned(folder, number) for number in folder.numbers("offsets")[-BATCHES_SHOWN:]}
    newest = next(reversed(planned.values()), None)
    return {
        **checkpoint.to_json(),
        "query_id": query_id,
        "watermark": _watermark(newest),
        "batches": [_batch(folder, number, batch) for number, batch in planned.items()],
        "sources": dict(inventory.record_of(checkpoint).sources),
        "state": _state(folder, newest),
        "target": _target(inventory, checkpoint, query_id),
    }


def _planned(folder: CheckpointFolder, number: int) -> PlannedBatch | None:
    with suppress(*_UNREADABLE):
        return folder.planned_batch(number)
    return None


def _batch(folder: CheckpointFolder, number: int, planned: PlannedBatch | None) -> dict[str, Any]:
    offsets = None
    if planned is not None:
        offsets = {name: _with_files(folder, name, offset) for name, offset in planned.offsets.items()}
    return {
        "batch": number,
        "committed": f"commits/{number}" in folder.files,
        "planned": None if planned is None else _time(planned.planned_ms),
        "offsets": offsets,
    }


def _with_files(folder: CheckpointFolder, source: str, offset: Any) -> Any:
    """Adds to a file source's offset how many files its newest step took, when its log still has them."""
    if not isinstance(offset, dict) or set(offset) != {"logOffset"}:
        return offset
    step = offset["logOffset"]
    for name in (f"sources/{source}/{step}", f"sources/{source}/{step}.compact"):
        if name in folder.files:
            with suppress(*_UNREADABLE):
                entries = parse_source_log(folder.read(name))
                files = sum(isinstance(entry, dict) and entry.get("batchId") == step for entry in entries)
                return {**offset, "files": files}
    return offset


def _watermark(newest: PlannedBatch | None) -> str | None:
    """The watermark of the newest planned batch; Spark writes 0 when there is none."""
    return None if newest is None or newest.watermark_ms <= 0 else _time(newest.watermark_ms)


def _state(folder: CheckpointFolder, newest: PlannedBatch | None) -> dict[str, Any] | None:
    """The stateful operators; how many rows they keep is in the event log, not here."""
    found = [_operator(number, operator) for number, operator in operators(folder)]
    if not found:
        return None
    provider = None if newest is None else newest.settings.get(_STATE_PROVIDER)
    size = sum(file.size for name, file in folder.files.items() if name.startswith("state/"))
    return {"provider": provider, "bytes": size, "operators": found}


def _operator(number: int, operator: OperatorState | None) -> dict[str, Any]:
    if operator is None:
        return {"operator": number, "name": None, "stores": None}
    stores = [{"name": store.name, "partitions": store.partitions} for store in operator.stores]
    return {"operator": number, "name": operator.name, "stores": stores}


def _target(inventory: Inventory, checkpoint: StoredCheckpoint, query_id: str | None) -> dict[str, Any] | None:
    try:
        target = inventory.target(checkpoint.dataset)
    except StateError as error:
        return {"error": error.to_json()}
    if target is None:
        return None
    batch = None if query_id is None else target.newest_batch(query_id)
    return {
        "path": target.uri,
        "version": target.version,
        "generation": target.generation,
        "last_batch": batch,
        "version_of_last_batch": None if query_id is None or batch is None else target.version_of(query_id, batch),
    }


def _time(milliseconds: int) -> str | None:
    """A time that no calendar has is a damaged number."""
    try:
        return format_timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (OverflowError, ValueError, OSError):
        return None
