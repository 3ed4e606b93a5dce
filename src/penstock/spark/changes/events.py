"""Change events as rows: which key, when, what happens to it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.spark.changes.resolve import ResolvedChanges, named
from penstock.spark.comparable import comparable

UPSERT, DELETE, TRUNCATE = 0, 1, 2
"""The values of `kind`; of two events of one key and sequence, the greater one counts."""


def change_events(rows: DataFrame, changes: ResolvedChanges) -> DataFrame:
    """Returns `key` (struct), `sequence`, `kind`, `hash` and `row` (struct; NULL unless it is an upsert) of each row.

    `hash` decides between events of one key that agree in sequence and kind, so that the result does
    not depend on their order either. A truncate has no key.
    """
    kind = sf.when(changes.truncates, TRUNCATE).when(changes.deletes, DELETE).otherwise(UPSERT).cast("tinyint")
    row = sf.struct(*[named(field.name) for field in changes.row])
    hashed = [named(field.name) for field in changes.row if comparable(field.dataType)]
    return rows.select(
        sf.struct(*map(named, changes.keys)).alias("key"),
        changes.sequence.alias("sequence"),
        kind.alias("kind"),
        sf.xxhash64(*hashed).alias("hash"),
        row.alias("row"),
    ).select(
        sf.when(sf.col("kind") != TRUNCATE, sf.col("key")).alias("key"),
        "sequence",
        "kind",
        "hash",
        sf.when(sf.col("kind") == UPSERT, sf.col("row")).alias("row"),
    )
