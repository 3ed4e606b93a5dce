"""The checkpoints of Spark's streaming queries as files: read without Spark, never guessed at."""

from penstock.storage.checkpoint.backup import (
    Backup,
    CheckpointToCopy,
    CopiedCheckpoint,
    read_backup,
    write_backup,
)
from penstock.storage.checkpoint.changes import Restoration, forget_rewind, note_rewind, rebuild, reset, restore, rewind
from penstock.storage.checkpoint.committed_files import (
    BatchOfFiles,
    batches_of_files,
    committed_step,
    committed_steps,
    files_changed_after,
    files_of_steps,
)
from penstock.storage.checkpoint.divisible import why_not_divided
from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in
from penstock.storage.checkpoint.logs import (
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
    parse_query_id,
    parse_source_log,
)
from penstock.storage.checkpoint.newest import Repair, check_newest, remove_unfinished_plan, repair
from penstock.storage.checkpoint.one_batch import copy_before, copy_reads_of, copy_state_after, repeatable_batches
from penstock.storage.checkpoint.partitions import (
    SHUFFLE_PARTITIONS,
    begin_repartition,
    complete_repartition,
    note_partitions,
    repartitions_state,
)
from penstock.storage.checkpoint.plan_file import moved_watermark, plan_batch_without_rows
from penstock.storage.checkpoint.planned_files import (
    ChangedFiles,
    PlannedFile,
    changed_files,
    file_steps,
    list_planned_files_again,
    planned_files,
)
from penstock.storage.checkpoint.pruning import former_checkpoints
from penstock.storage.checkpoint.snapshots import damaged_snapshots, is_snapshot_file
from penstock.storage.checkpoint.source_offsets import (
    missing_source_files,
    move_source,
    newest_batch,
    newest_offsets,
    pending_versions,
)
from penstock.storage.checkpoint.state import (
    OperatorState,
    missing_state_files,
    operators,
    parse_operator,
    state_partitions,
    state_version,
)
from penstock.storage.checkpoint.whole_files import damage_of

__all__ = [
    "SHUFFLE_PARTITIONS",
    "Backup",
    "BatchOfFiles",
    "ChangedFiles",
    "CheckpointFolder",
    "CheckpointToCopy",
    "CopiedCheckpoint",
    "DamagedFile",
    "OperatorState",
    "PlannedBatch",
    "PlannedFile",
    "Repair",
    "Restoration",
    "UnknownVersion",
    "batches_of_files",
    "begin_repartition",
    "changed_files",
    "check_newest",
    "committed_step",
    "committed_steps",
    "complete_repartition",
    "copy_before",
    "copy_reads_of",
    "copy_state_after",
    "damage_of",
    "damaged_snapshots",
    "file_steps",
    "files_changed_after",
    "files_of_steps",
    "forget_rewind",
    "former_checkpoints",
    "is_snapshot_file",
    "list_planned_files_again",
    "missing_source_files",
    "missing_state_files",
    "move_source",
    "moved_watermark",
    "newest_batch",
    "newest_offsets",
    "note_partitions",
    "note_rewind",
    "numbers_in",
    "operators",
    "parse_commit",
    "parse_operator",
    "parse_planned_batch",
    "parse_query_id",
    "parse_source_log",
    "pending_versions",
    "plan_batch_without_rows",
    "planned_files",
    "read_backup",
    "rebuild",
    "remove_unfinished_plan",
    "repair",
    "repartitions_state",
    "repeatable_batches",
    "reset",
    "restore",
    "rewind",
    "state_partitions",
    "state_version",
    "why_not_divided",
    "write_backup",
]
