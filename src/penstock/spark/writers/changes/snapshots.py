"""Applies a whole snapshot to a target: what it adds, changes and no longer holds."""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.errors import DataError
from penstock.graph.elements import SnapshotChangeFlow
from penstock.graph.resolved import AppliedChanges
from penstock.spark.delta.conform import align
from penstock.spark.delta.tables import add_missing_columns
from penstock.spark.plans.comparable import as_comparable
from penstock.spark.writers.changes.merge import MergedRows, merge_rows
from penstock.spark.writers.changes.resolve import END_AT, START_AT, named, resolve_snapshot, target_schema

_TYPES: tuple[tuple[type, T.DataType], ...] = (
    (datetime.datetime, T.TimestampType()),
    (datetime.date, T.DateType()),
    (int, T.LongType()),
    (float, T.DoubleType()),
    (decimal.Decimal, T.DecimalType(38, 18)),
    (bytes, T.BinaryType()),
    (str, T.StringType()),
)


def version_type(version: object) -> T.DataType | None:
    """Returns the Spark type of a snapshot's version; None for a value that cannot be one."""
    if isinstance(version, bool):
        return None
    return next((spark_type for kind, spark_type in _TYPES if isinstance(version, kind)), None)


def snapshot_target(
    flow: SnapshotChangeFlow, snapshot: DataFrame, versions: T.DataType
) -> tuple[T.StructType, AppliedChanges]:
    """Returns the columns of a snapshot flow's target, and what the target depends on for good.

    Raises:
        DefinitionError: a column that is not there, a reserved name.
    """
    keys, _ = resolve_snapshot(flow, snapshot)
    types = {field.name: field.dataType.simpleString() for field in snapshot.schema}
    applied = AppliedChanges(
        keys=tuple(f"{key} {types[key]}" for key in keys),
        sequence_type=versions.simpleString() if flow.scd_type == 2 else "snapshots",
        scd_type=flow.scd_type,
    )
    return target_schema(snapshot.schema, flow.scd_type, versions), applied


def followed_snapshot(flow: SnapshotChangeFlow, snapshot: DataFrame) -> DataFrame:
    """Returns a query whose columns are made of the snapshot's as those of the target are; it is not for running."""
    keys, _ = resolve_snapshot(flow, snapshot)
    history = [sf.lit(None).alias(name) for name in (START_AT, END_AT)] if flow.scd_type == 2 else []
    return snapshot.dropDuplicates(list(keys)).select("*", *history)


@dataclass(frozen=True, slots=True)
class SnapshotWriter:
    """Brings the Delta table at `path` in line with one snapshot."""

    flow: SnapshotChangeFlow
    version: Any
    path: str

    def apply(self, snapshot: DataFrame, transaction: tuple[str, int]) -> MergedRows:
        """Applies the snapshot, whose keys have no NULL, by one MERGE under a Delta transaction.

        Raises:
            DataError: SNAPSHOT_KEYS_NOT_UNIQUE; nothing was written.
        """
        versions, flow = version_type(self.version), self.flow
        assert versions is not None, "the version was checked"
        keys, tracked = resolve_snapshot(flow, snapshot)
        _check_keys(snapshot, keys, flow)
        spark = snapshot.sparkSession
        add_missing_columns(spark, self.path, target_schema(snapshot.schema, flow.scd_type, versions))
        stored = spark.read.format("delta").load(self.path)
        snapshot = align(snapshot, stored.schema)  # values are compared with stored ones, and structs by position
        row = snapshot.schema
        if flow.scd_type == 2:
            stored = stored.where(sf.col(END_AT).isNull())
        both = _side_by_side(stored, snapshot, keys, row)
        if flow.scd_type == 2:
            computed = _history(both, sf.lit(self.version).cast(versions), row, tracked)
        else:
            removed = sf.col("row").isNull().alias("remove")
            computed = both.where(~_same(row, row.fieldNames())).select("key", "row", removed)
        return merge_rows(computed, row, keys, path=self.path, history=flow.scd_type == 2, transaction=transaction)


def _side_by_side(stored: DataFrame, snapshot: DataFrame, keys: Sequence[str], row: T.StructType) -> DataFrame:
    """Returns `key`, `was` (struct, NULL for a new row), `row` (struct, NULL for one that is gone) and `since`."""
    key = sf.struct(*map(named, keys)).alias("key")
    values = sf.struct(*map(named, row.fieldNames()))
    since = named(START_AT) if START_AT in stored.columns else sf.lit(None)
    was = stored.select(key, values.alias("was"), since.alias("since"))
    return was.join(snapshot.select(key, values.alias("row")), "key", "full_outer")


def _history(both: DataFrame, version: Column, row: T.StructType, tracked: Sequence[str]) -> DataFrame:
    """A row whose tracked columns changed, or that is gone, ends; a new one and a changed one begin."""
    changes = ~_same(row, tracked) | sf.col("was").isNull() | sf.col("row").isNull()
    ended = sf.struct(sf.col("was").alias("row"), sf.col("since").alias("start"), version.alias("end"))
    open_end = sf.when(sf.lit(False), version)  # NULL of the version's type
    begun = sf.struct(sf.col("row").alias("row"), version.alias("start"), open_end.alias("end"))
    corrected = sf.struct(sf.col("row").alias("row"), sf.col("since").alias("start"), open_end.alias("end"))
    steps = sf.when(
        changes,
        sf.array(sf.when(sf.col("was").isNotNull(), ended), sf.when(sf.col("row").isNotNull(), begun)),
    ).otherwise(sf.array(corrected))
    exploded = (
        both.where(~_same(row, row.fieldNames()))
        .select("key", sf.explode(steps).alias("step"))
        .where(sf.col("step").isNotNull())
    )
    return exploded.select("key", "step.row", "step.start", "step.end", sf.lit(False).alias("remove"))


def _same(row: T.StructType, names: Sequence[str]) -> Column:
    """Whether a row is there before and after, and does not differ in the columns `names`."""
    types = {field.name: field.dataType for field in row}
    equal = []
    for name in names:
        was, now = (as_comparable(sf.col(side).getField(name), types[name]) for side in ("was", "row"))
        equal.append(was.eqNullSafe(now))
    there = sf.col("was").isNotNull() & sf.col("row").isNotNull()
    return functools.reduce(lambda left, right: left & right, equal, there)


def _check_keys(snapshot: DataFrame, keys: Sequence[str], flow: SnapshotChangeFlow) -> None:
    counted = snapshot.groupBy(*map(named, keys)).count()
    if repeated := counted.where(sf.col("count") > 1).count():
        raise DataError(
            "SNAPSHOT_KEYS_NOT_UNIQUE",
            dataset=str(flow.target),
            flow=flow.name,
            target=flow.target,
            keys=", ".join(keys),
            repeated=repeated,
        )
