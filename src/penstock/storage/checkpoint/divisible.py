"""Which state Spark 4.2 can divide into another number of partitions, as far as a checkpoint's files show."""

from __future__ import annotations

from typing import Final

from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.state import operators

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
