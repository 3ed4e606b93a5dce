"""The checkpoints of Spark's streaming queries as files: read without Spark, never guessed at."""

from penstock.storage.checkpoint.backup import (
    Backup,
    CheckpointToCopy,
    CopiedCheckpoint,
    read_backup,
    write_backup,
)
from penstock.storage.checkpoint.changes import Restoration, reset, restore
from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in
from penstock.storage.checkpoint.logs import (
    OFFSET_LOG_VERSION,
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
    parse_query_id,
    parse_source_log,
)
from penstock.storage.checkpoint.state import OperatorState, StateStore, missing_state_files, operators, parse_operator

__all__ = [
    "OFFSET_LOG_VERSION",
    "Backup",
    "CheckpointFolder",
    "CheckpointToCopy",
    "CopiedCheckpoint",
    "DamagedFile",
    "OperatorState",
    "PlannedBatch",
    "Restoration",
    "StateStore",
    "UnknownVersion",
    "missing_state_files",
    "numbers_in",
    "operators",
    "parse_commit",
    "parse_operator",
    "parse_planned_batch",
    "parse_query_id",
    "parse_source_log",
    "read_backup",
    "reset",
    "restore",
    "write_backup",
]
