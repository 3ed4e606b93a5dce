"""Writes the rows of an incremental refresh, and the note of what they stand for, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.events import RefreshMethod
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.expectations.observed import ObservedExpectations
from penstock.spark.streams.writes import EMPTY_COMMITS, Replacement, await_counters, on_own_session, replace_table
from penstock.spark.writers.incremental.plans import all_same
from penstock.spark.writers.incremental.refresh import Refresh

_NOTE: Final = "spark.databricks.delta.commitInfo.userMetadata"

Counters = Mapping[str, Mapping[str, int]]


def write_refresh(
    refresh: Refresh,
    frame: DataFrame,
    observed: Sequence[ObservedExpectations],
    *,
    path: str,
    replacement: Replacement,
    conf: Mapping[str, str],
) -> Counters:
    """Changes the view at `path` in one commit with the note: `frame` has the rows of `refresh`, judged.

    Returns the observed counters by metric name.
    """
    rows, observations = on_own_session(frame, observed, {**conf, **EMPTY_COMMITS, _NOTE: replacement.note})
    if refresh.choice.method is RefreshMethod.APPEND_ROWS:
        rows.write.format("delta").mode("append").save(path)
    elif refresh.rewrites:
        replace_table(rows, path, replacement)
    else:
        held = rows.localCheckpoint()  # a MERGE reads its source twice, and would count it twice
        try:
            assert refresh.replaced is not None
            values = _jvm.frame_of(held.sparkSession, _jvm.analyzed_plan(refresh.replaced.values))
            _replace_rows(held, refresh.replaced.keys, values, path)
        finally:
            _jvm.release(held)
    return await_counters(observations)


def _replace_rows(rows: DataFrame, keys: tuple[str, ...], removed: DataFrame, path: str) -> None:
    """Deletes the view's rows with one of the keys, and inserts `rows`, which match none."""
    spark, names = rows.sparkSession, rows.columns
    empty = {column.name: sf.lit(None).cast(column.dataType) for column in removed.schema}
    inserted = rows.select(
        sf.lit(False).alias("remove"),
        sf.struct(*(value.alias(name) for name, value in empty.items())).alias("key"),
        sf.struct(*(sf.col(quoted(name)).alias(f"c{position}") for position, name in enumerate(names))).alias("row"),
    )
    nothing = sf.lit(None).cast(inserted.schema["row"].dataType)
    leaving = removed.select(
        sf.lit(True).alias("remove"), sf.struct(*removed.columns).alias("key"), nothing.alias("row")
    )
    pairs = ((sf.col(f"t.{quoted(key)}"), sf.col(f"s.key.k{position}")) for position, key in enumerate(keys))
    same = sf.col("s.remove") & all_same(pairs)
    values: dict[str, str | Column] = {
        quoted(name): sf.col(f"s.row.c{position}") for position, name in enumerate(names)
    }
    (
        DeltaTable.forPath(spark, path)
        .alias("t")
        .merge(leaving.union(inserted).alias("s"), same)
        .whenMatchedDelete()
        .whenNotMatchedInsert("NOT s.remove", values)
        .execute()
    )
