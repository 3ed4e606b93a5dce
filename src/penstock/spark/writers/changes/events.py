"""Change events as rows: which key, when, what happens to it; also those that a target's rows stand for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.spark.plans.comparable import comparable
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
