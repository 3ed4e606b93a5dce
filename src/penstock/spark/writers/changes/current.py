"""What a target says of its keys: the event with which each of its rows that hold now begins."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.spark.writers.changes.events import UPSERT
from penstock.spark.writers.changes.resolve import END_AT, START_AT, ResolvedChanges, named


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
