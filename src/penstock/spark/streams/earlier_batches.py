"""What a query has done before, and a repair of its log, without which an unfinished batch can never be finished.

Spark 4.2 with `spark.sql.streaming.offsetLog.formatVersion=2` (which named sources need) does not write the
number of shuffle partitions into the offset log, but reads it there when a query starts over a batch that was
planned and not committed, and fails with `None.get`: `OfflineStateRepartitionUtils.isRepartitionBatch` compares
the last two batches. Version 1 of the log has the entry. See docs/decisions/offset-log-repair.md.
"""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from penstock.spark import _jvm
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_planned_batch
from penstock.storage.checkpoint.partitions import SHUFFLE_PARTITIONS, note_partitions


def has_planned_batches(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a query has planned a batch with this checkpoint."""
    return _jvm.path_exists(spark, f"{checkpoint.rstrip('/')}/offsets")


def newest_batch_in_table(spark: SparkSession, path: str, query_id: str) -> int | None:
    """Returns the newest batch that Delta's sink has committed to the table at `path` for a query; None without one."""
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    known = _jvm.table_snapshot(spark.read.format("delta").load(path)).transactions().get(query_id)
    return int(known.get()) if known.isDefined() else None


def holds_batches_of_another_query(spark: SparkSession, path: str) -> bool:
    """Whether a folder has the log of Spark's file sink, in which a batch's number alone says that it was written."""
    return _jvm.path_exists(spark, f"{path.rstrip('/')}/_spark_metadata")


def repair_offset_log(checkpoint_location: str, shuffle_partitions: int) -> bool:
    """Adds the missing entry to the last two batches of the offset log when the last one is not committed.

    Called before every start of a query on an existing checkpoint, while no query uses it. The offsets, and so
    the batch that Spark plans again, stay as they are. Returns whether anything was written; the second
    call changes nothing.

    Args:
        checkpoint_location: the query's checkpoint; nothing happens when it does not exist yet.
        shuffle_partitions: what `spark.sql.shuffle.partitions` is in the session of the query.
    """
    checkpoint = Storage(checkpoint_location)
    planned = numbers_in(checkpoint, "offsets")
    if not planned or checkpoint.exists(f"commits/{planned[-1]}"):
        return False
    try:
        settings = [parse_planned_batch(checkpoint.read_bytes(f"offsets/{batch}")).settings for batch in planned[-2:]]
    except (DamagedFile, UnknownVersion):  # Spark, or the checks before a run, say so
        return False
    # One number for both: where they differ, Spark takes the last batch for an unfinished repartitioning.
    known = next((int(each[SHUFFLE_PARTITIONS]) for each in settings if SHUFFLE_PARTITIONS in each), shuffle_partitions)
    changed = [
        note_partitions(checkpoint, batch, known)
        for batch, each in zip(planned[-2:], settings, strict=True)
        if SHUFFLE_PARTITIONS not in each
    ]
    return any(changed)
