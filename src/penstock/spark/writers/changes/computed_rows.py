"""Change events as rows, and the rows of a target computed from the events of their keys.

With SCD type 1 that is the newest row of each key, with SCD type 2 its history.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.spark.plans.comparable import as_comparable, comparable
from penstock.spark.writers.changes.resolve import END_AT, START_AT, ResolvedChanges, named

UPSERT, DELETE, TRUNCATE = 0, 1, 2
"""The values of `kind`; of two events of one key and sequence, the greater one counts."""


UPDATES = "updates"


def change_events(rows: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Returns `key` (struct), `sequence`, `kind`, `hash` and `row` (struct; NULL unless it is an upsert) of each row.

    `hash` decides between events of one key that agree in sequence and kind, so that the result does
    not depend on their order either. A truncate has no key. Where events name the columns that they change, there
    is `updates` too: their names in small letters, NULL for all.
    """
    kind = sf.when(changes.truncates, TRUNCATE).when(changes.deletes, DELETE).otherwise(UPSERT).cast("tinyint")
    row = sf.struct(*[named(field.name) for field in changes.row])
    hashed = [named(field.name) for field in changes.row if comparable(field.dataType)]
    updates = [] if changes.updates is None else [changes.updates.alias(UPDATES)]
    return rows.select(
        sf.struct(*map(named, changes.keys)).alias("key"),
        changes.sequence.alias("sequence"),
        kind.alias("kind"),
        sf.xxhash64(*hashed, *updates).alias("hash"),
        row.alias("row"),
        *updates,
    ).select(
        sf.when(sf.col("kind") != TRUNCATE, sf.col("key")).alias("key"),
        "sequence",
        "kind",
        "hash",
        sf.when(sf.col("kind") == UPSERT, sf.col("row")).alias("row"),
        *([] if changes.updates is None else [UPDATES]),
    )


def sets(name: str, changes: ResolvedChanges) -> Column:
    """Whether an upsert says what the column `name` of its row is from then on; else it stays as it was."""
    if name in changes.ignoring:
        return sf.col("row").getField(name).isNotNull()
    if not changes.fills(name):
        return sf.lit(True)
    return sf.col(UPDATES).isNull() | sf.array_contains(UPDATES, name.lower())


def has_types(target: StructType, row: StructType) -> bool:
    """Whether the columns of `row` have the same types in a target."""
    types = {field.name.casefold(): field.dataType for field in target}
    return all(types.get(field.name.casefold()) == field.dataType for field in row)


def current_events(target: DataFrame, changes: ResolvedChanges) -> DataFrame | None:
    """Returns one event, with the columns of `change_events`, for each row of the target that holds now.

    For keys of which no event is as new as those of a batch, these stand for all events that were before.
    The sequence is NULL with SCD type 1. None when the target's types differ, so that its values are not those of
    the events.
    """
    if not has_types(target.schema, changes.row):
        return None
    start = sf.lit(None).cast(changes.sequence_type)
    if changes.scd_type == 2:
        target, start = target.where(sf.col(END_AT).isNull()), sf.col(START_AT)
    return target.select(
        sf.struct(*map(named, changes.keys)).alias("key"),
        start.alias("sequence"),
        sf.lit(UPSERT).cast("tinyint").alias("kind"),
        sf.lit(0).cast("bigint").alias("hash"),
        sf.struct(*[named(field.name).alias(field.name) for field in changes.row]).alias("row"),
    )


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


def histories(events: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Returns `key`, `row`, `start`, `end` and `remove` for each event of each key.

    `events` are all events of the keys. An event at which a row of the history begins gives this row,
    with the values of the last event before the next row begins; all others say that at their
    `start` no row may begin, which repairs what was written before an older event arrived.
    """
    parts = ["kind", "row"] if changes.updates is None else ["kind", "row", UPDATES]
    single = (
        events.groupBy("key", "sequence")
        .agg(sf.max_by(sf.struct(*parts), sf.struct("kind", "hash")).alias("event"))
        .select("key", "sequence", *(f"event.{part}" for part in parts))
    )
    in_order = Window.partitionBy("key").orderBy("sequence")
    single = _filled(single, changes)
    tracked = sf.when(sf.col("kind") == UPSERT, _tracked(changes))
    # NULL before: the first event, or one after a delete.
    same = tracked.isNotNull() & tracked.eqNullSafe(sf.lag(tracked).over(in_order))
    runs = single.withColumn("begins", (~same).cast("int")).withColumn("run", sf.sum("begins").over(in_order))
    rows = runs.groupBy("key", "run").agg(
        sf.min("sequence").alias("begin"),
        sf.max_by("row", "sequence").alias("row"),
        sf.max("kind").alias("kind"),
        sf.collect_list("sequence").alias("sequences"),
    )
    by_begin = Window.partitionBy("key").orderBy("begin")
    rows = rows.withColumn("end", sf.lead("begin").over(by_begin)).withColumn("start", sf.explode("sequences"))
    is_row = (sf.col("kind") == UPSERT) & (sf.col("start") == sf.col("begin"))
    return rows.select("key", "row", "start", "end", (~is_row).alias("remove"))


def _filled(events: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Takes over the older value of a column that an event does not set."""
    if not any(map(changes.fills, changes.row.fieldNames())):
        return events
    in_order = Window.partitionBy("key").orderBy("sequence")
    events = events.withColumn("life", sf.sum((sf.col("kind") == DELETE).cast("int")).over(in_order))
    so_far = Window.partitionBy("key", "life").orderBy("sequence")
    columns = []
    for field in changes.row:
        value = sf.col("row").getField(field.name)
        if changes.fills(field.name):
            given = sf.when((sf.col("kind") == UPSERT) & sets(field.name, changes), sf.struct(value.alias("value")))
            value = sf.last(given, ignorenulls=True).over(so_far).getField("value")
        columns.append(value.alias(field.name))
    row = sf.when(sf.col("kind") == UPSERT, sf.struct(*columns))
    return events.select("key", "sequence", "kind", row.alias("row"))


def _tracked(changes: ResolvedChanges) -> Column:
    """The values whose change begins a new row of the history, as one value that can be compared."""
    types = {field.name: field.dataType for field in changes.row}
    values = [as_comparable(sf.col("row").getField(name), types[name]) for name in changes.tracked]
    return sf.struct(sf.lit(0).alias("upsert"), *[value.alias(f"c{n}") for n, value in enumerate(values)])
