"""Into how many partitions a checkpoint's state is divided, and whether Spark can divide it anew, by its files.

Spark 4.2 repartitions a state in a batch of its own, which reads nothing: its plan is that of the batch before, with
another number of partitions. See docs/decisions/state-repartitioning.md.
"""

from __future__ import annotations

import json
from typing import Final

from penstock.storage.checkpoint.folder import REWINDING, CheckpointFolder, numbers_in, replace_file
from penstock.storage.checkpoint.logs import OFFSET_LOG_VERSION, PlannedBatch
from penstock.storage.checkpoint.plan_file import PlanFile, compact_json, planned_now
from penstock.storage.checkpoint.staging import StagedCheckpoint, begin_new_query, copy_files
from penstock.storage.checkpoint.state import operators
from penstock.storage.filesystem import Storage

SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
"""The setting of a plan with the number of partitions of the state."""
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_FORMAT: Final = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_ROCKSDB: Final = "RocksDBStateStoreProvider"
_DIVIDED: Final = frozenset(
    {
        "applyInPandasWithState",
        "dedupe",
        "dedupeWithinWatermark",
        "flatMapGroupsWithState",
        "sessionWindowStateStoreSaveExec",
        "stateStoreSave",
        "symmetricHashJoin",
        "transformWithStateExec",
        "transformWithStateInPandasExec",
        "transformWithStateInPySparkExec",
    }
)
"""Spark's names of the operators whose keys it can distinguish."""


def why_not_divided(folder: CheckpointFolder) -> str | None:
    """Returns why the state of a checkpoint, whose newest batch is finished, cannot be repartitioned; else None.

    Raises:
        DamagedFile, UnknownVersion, FileNotFoundError: of the newest plan and commit.
    """
    if folder.committed is not None:
        provider = folder.planned_batch(folder.committed).settings.get(_PROVIDER, "").rpartition(".")[2]
        if provider and provider != _ROCKSDB:
            return f"it is kept by {provider}, and only that of {_ROCKSDB} can be"
        if folder.read(f"commits/{folder.committed}").startswith(b"v2"):
            return f"its files have names of their own for each try ({_FORMAT} is 2)"
    for _, operator in operators(folder):
        if operator is None:
            continue
        if not operator.has_keys:
            return f"the operator {operator.name} has no keys, so that all of it is in the first partition"
        if operator.name not in _DIVIDED:
            return f"Spark cannot divide that of the operator {operator.name}"
    return None


def repartitions_state(batch: PlannedBatch, before: PlannedBatch) -> bool:
    """Whether a batch only divides the state into another number of partitions than the one before it.

    Where it is not committed, Spark starts no query on the checkpoint.
    """
    numbers = {each.settings[SHUFFLE_PARTITIONS] for each in (batch, before) if SHUFFLE_PARTITIONS in each.settings}
    return len(numbers) > 1 and batch.offsets == before.offsets


def note_partitions(checkpoint: Storage, batch: int, partitions: int) -> bool:
    """Writes into the plan of a batch how many partitions there are; returns False for a plan of another version.

    Raises:
        FileNotFoundError: the batch was not planned.
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    plan = PlanFile.read(checkpoint, batch)
    if plan.version != OFFSET_LOG_VERSION or not plan.metadata.startswith("{"):
        return False
    metadata = json.loads(plan.metadata)
    metadata.setdefault("conf", {})[SHUFFLE_PARTITIONS] = str(partitions)
    plan.write(checkpoint, batch, metadata)
    return True


def begin_repartition(storage: Storage, folder: CheckpointFolder, partitions: int) -> StagedCheckpoint:
    """Copies a checkpoint for Spark to change: its state has so many `partitions`, its newest batch is finished.

    The caller holds the storage's lock.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    staged = StagedCheckpoint.begin(storage, folder.uri)
    copy_files(folder, (name for name in folder.files if name != REWINDING), storage, staged.uri)
    assert folder.committed is not None
    # Version 2 of the log lacks it, and Spark asks this plan for it without a second thought.
    note_partitions(staged.files, folder.committed, partitions)
    return staged


def complete_repartition(staged: StagedCheckpoint, partitions: int) -> int:
    """Does what Spark leaves undone after it has divided the state; returns the number of the batch that did it.

    That batch was planned now, not when the one before was: else it looks like an older plan in a newer one's place.
    The query gets an id of its own, because no table holds the batch under the old one.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    files = staged.files
    batch = numbers_in(files, "offsets")[-1]
    plan = PlanFile.read(files, batch)
    plan.write(files, batch, planned_now(json.loads(plan.metadata)))
    for operator in numbers_in(files, "state"):
        _describe(files, f"state/{operator}/_metadata/metadata", partitions)
        for left_over in numbers_in(files, f"state/{operator}"):
            if left_over >= partitions:
                files.delete(f"state/{operator}/{left_over}")
    begin_new_query(staged.storage, staged.uri, batch)
    return batch


def _describe(files: Storage, description: str, partitions: int) -> None:
    """Spark writes a new description of an operator only in the form that keeps the older ones."""
    if not files.exists(description):
        return
    version, _, text = files.read_text(description).partition("\n")
    document = json.loads(text)
    for store in document["stateStoreInfo"]:
        store["numPartitions"] = partitions
    replace_file(files, description, f"{version}\n{compact_json(document)}")
