"""Brings a target in line with computed rows: one idempotent MERGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.graph.sql.names import quoted
from penstock.spark.plans.comparable import comparable
from penstock.spark.session.query_settings import query_settings
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers.changes.resolve import END_AT, START_AT
from penstock.storage.delta.table import open_delta_table

_APP_ID, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"

FEW_ROWS: Final = 100_000
"""They may pass through the driver, and one task is enough for them."""


@dataclass(frozen=True, slots=True)
class MergedRows:
    """How many rows of the target a MERGE added, changed and removed; all zero when it was a repetition."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    def __add__(self, other: MergedRows) -> MergedRows:
        """What two MERGEs did together."""
        return MergedRows(self.inserted + other.inserted, self.updated + other.updated, self.deleted + other.deleted)


def merge_rows(
    computed: DataFrame,
    row: StructType,
    keys: tuple[str, ...],
    *,
    path: str,
    history: bool,
    only_current: bool = False,
    near: Column | None = None,
    transaction: tuple[str, int],
) -> MergedRows:
    """Merges `key`, `row`, `remove` (and, with `history`, `start`, `end`) into the Delta table at `path`.

    Rows that are equal already are not written. `only_current` says that of a history only rows that
    hold now can match, so that files of older ones are not read. `near` is a condition over the target's rows,
    as `t`, that all with a computed key meet: the join that finds new rows is an outer one, for which Spark would
    shuffle the whole target. With a transaction (app id, version) that is
    committed already nothing happens.
    """
    spark = computed.sparkSession
    on = [f"t.{quoted(key)} = s.key.{quoted(key)}" for key in keys]
    values = {quoted(field.name): f"s.row.{quoted(field.name)}" for field in row}
    if history:
        on.append(f"t.{START_AT} = s.start")
        if only_current:
            on.append(f"t.{END_AT} IS NULL")
        values |= {START_AT: "s.start", END_AT: "s.end"}
    same = [f"t.{name} <=> {value}" for name, value in values.items()]
    unequal = f" AND NOT ({' AND '.join(same)})" if all(comparable(field.dataType) for field in row) else ""
    merge = (
        DeltaTable.forPath(spark, path)
        .alias("t")
        .merge(computed.alias("s"), sf.expr(" AND ".join(on)) if near is None else sf.expr(" AND ".join(on)) & near)
        .whenMatchedDelete("s.remove")
        .whenMatchedUpdate(f"NOT s.remove{unequal}", dict(values))
        .whenNotMatchedInsert("NOT s.remove", dict(values))
    )
    return execute_merge(spark, merge, transaction)


def insert_rows(
    computed: DataFrame, row: StructType, *, path: str, history: bool, transaction: tuple[str, int]
) -> MergedRows:
    """Does what `merge_rows` does when the Delta table at `path` has no rows yet, without reading it."""
    columns = [sf.col("row").getField(field.name).alias(field.name) for field in row]
    if history:
        columns += [sf.col("start").alias(START_AT), sf.col("end").alias(END_AT)]
    append_to_table(computed.where(~sf.col("remove")).select(*columns), path, transaction)
    [commit] = open_delta_table(path).history(1)
    return MergedRows(inserted=int(commit.get("operationMetrics", {}).get("numOutputRows", 0)))


def execute_merge(spark: SparkSession, merge: DeltaMergeBuilder, transaction: tuple[str, int]) -> MergedRows:
    """Runs a MERGE under a Delta transaction id, for which it has no option."""
    app_id, version = transaction
    with query_settings(spark, {_APP_ID: app_id, _VERSION: str(version)}):
        # A repetition returns no row.
        for done in merge.execute().collect():
            return MergedRows(done["num_inserted_rows"], done["num_updated_rows"], done["num_deleted_rows"])
    return MergedRows()


def small_batch_conf(spark: SparkSession) -> dict[str, str]:
    """Settings for few rows: each query is planned once (see docs/decisions/budget-of-a-change-batch.md).

    Adaptive execution plans again after each shuffle and broadcast, and Delta then looks for its files once more. It is
    left alone where it has partitions to put together.
    """
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    few = partitions <= spark.sparkContext.defaultParallelism
    return {"spark.sql.adaptive.enabled": "false"} if few else {}
