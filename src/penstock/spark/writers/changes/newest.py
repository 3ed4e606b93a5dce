"""SCD type 1: the newest row of each key, computed from the key's events."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.spark.writers.changes.events import DELETE, TRUNCATE, UPSERT, sets
from penstock.spark.writers.changes.resolve import ResolvedChanges


def newest_rows(events: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Returns `key`, `row` and `remove` for each key whose row in the target may have to change.

    `events` has the columns of `change_events`, `fresh` (whether the event is of this batch) and
    `truncated_at`, the sequence of the newest truncate, or NULL. Where no older rows are kept, a key whose
    newest event is an older one is left out, because the target has its row already.
    """
    # An event without a sequence is the target's row as it is, which the truncates so far have spared.
    spared = sf.col("sequence").isNull() | _after(sf.col("truncated_at"))
    alive = (sf.col("kind") == UPSERT) & spared
    events = events.where(sf.col("kind") != TRUNCATE).withColumn("alive", alive)
    if any(map(changes.fills, changes.row.fieldNames())):
        return _filled_rows(events, changes)
    # A replayed event is in the log as well: of the two, the fresh one has the row.
    order = sf.struct("sequence", "kind", "hash", "fresh")
    newest = events.groupBy("key").agg(sf.max_by(sf.struct("alive", "fresh", "row"), order).alias("newest"))
    alive, fresh = sf.col("newest.alive"), sf.col("newest.fresh")
    return newest.where(fresh | ~alive).select("key", "newest.row", (~alive).alias("remove"))


def _filled_rows(events: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Each column comes from the newest event that sets it since the last delete."""
    deleted = events.groupBy("key").agg(
        sf.max(sf.when(sf.col("kind") == DELETE, sf.col("sequence"))).alias("deleted_at")
    )
    events = events.join(deleted, "key").withColumn("alive", sf.col("alive") & _after(sf.col("deleted_at")))
    order = sf.struct("sequence", "hash")
    columns = []
    for field in changes.row:
        counts = sf.col("alive") & sets(field.name, changes)
        columns.append(sf.max_by(sf.col("row").getField(field.name), sf.when(counts, order)).alias(field.name))
    filled = events.groupBy("key").agg(sf.max("alive").alias("alive"), sf.struct(*columns).alias("row"))
    return filled.select("key", "row", (~sf.col("alive")).alias("remove"))


def _after(moment: Column) -> Column:
    return moment.isNull() | (sf.col("sequence") > moment)
