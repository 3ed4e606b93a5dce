"""Applies the batches of a change flow to its target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.graph.elements import ChangeFlow
from penstock.spark import _jvm
from penstock.spark.delta.conform import align
from penstock.spark.delta.tables import add_missing_columns
from penstock.spark.session.query_settings import query_settings
from penstock.spark.writers.changes.candidate_rows import candidate_row_filter
from penstock.spark.writers.changes.computed_rows import (
    TRUNCATE,
    change_events,
    current_events,
    has_types,
    histories,
    newest_rows,
)
from penstock.spark.writers.changes.log import ChangeLog, LoggedBatch, Order
from penstock.spark.writers.changes.merge import FEW_ROWS, MergedRows, insert_rows, merge_rows, small_batch_conf
from penstock.spark.writers.changes.resolve import ResolvedChanges, resolve_changes
from penstock.storage.delta.table import open_delta_table

_BATCHES_PER_TIDYING = 50


@dataclass(slots=True)
class ChangeWriter:
    """Applies events to the Delta table at `path`: first to the change log, then by one MERGE.

    The log makes a target's row a function of the key's events, so that neither their order nor their
    batches matter, and a batch that is replayed after a crash between the two commits completes the
    second. One flow at a time may write. `truncates` says that one of the flows into the target truncates.
    """

    flow: ChangeFlow
    path: str
    log: ChangeLog
    truncates: bool
    _batches: int = 0
    _changes: ResolvedChanges | None = None
    _stored: StructType = field(default_factory=StructType)

    def apply(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> MergedRows:
        """Applies `count` events, each with a key and a sequence, under a Delta transaction (app id, version).

        `rows` is executed several times.
        """
        self._tidy(rows)
        few = count <= FEW_ROWS
        with query_settings(rows.sparkSession, small_batch_conf(rows.sparkSession) if few else {}):
            return self._apply(rows, transaction, count, few=few)

    def _apply(self, rows: DataFrame, transaction: tuple[str, int], count: int, *, few: bool) -> MergedRows:
        changes = self._resolved(rows)
        rows = align(rows, self._stored)  # values are compared with stored ones, and structs by position
        events = change_events(rows, changes)
        events = events.coalesce(1) if few else events
        logged = self.log.append(events, Order(changes.sequence_type), few=few, transaction=transaction)
        with self._known(events, logged, changes, few=few) as (known, in_order):
            if changes.scd_type == 2:
                computed = histories(known, changes)
                computed = computed.where(~sf.col("remove")) if in_order else computed
            else:
                computed = newest_rows(self._with_truncate(known), changes)
            if logged.before is None and self._can_append_without_merge(rows, changes):
                history = changes.scd_type == 2
                return insert_rows(computed, changes.row, path=self.path, history=history, transaction=transaction)
            return merge_rows(
                sf.broadcast(computed) if few and not logged.truncates else computed,
                changes.row,
                changes.keys,
                path=self.path,
                history=changes.scd_type == 2,
                only_current=in_order and changes.scd_type == 2,
                near=candidate_row_filter(events.select("key.*"), count, path=self.path)
                if few and not logged.truncates
                else None,
                transaction=transaction,
            )

    def _resolved(self, rows: DataFrame) -> ResolvedChanges:
        """A query's columns stay the same from start to end, so the first batch settles them."""
        if self._changes is None:
            spark = rows.sparkSession
            add_missing_columns(spark, self.path, resolve_changes(self.flow, rows).target_schema)
            self._stored = spark.read.format("delta").load(self.path).schema
            self._changes = resolve_changes(self.flow, align(rows, self._stored))
        return self._changes

    def _can_append_without_merge(self, rows: DataFrame, changes: ResolvedChanges) -> bool:
        """Whether the target has no rows, and the types of those that are computed."""
        target = rows.sparkSession.read.format("delta").load(self.path)
        return not open_delta_table(self.path).file_uris() and has_types(target.schema, changes.row)

    @contextmanager
    def _known(
        self, events: DataFrame, logged: LoggedBatch, changes: ResolvedChanges, *, few: bool
    ) -> Iterator[tuple[DataFrame, bool]]:
        """Gives the events of a batch and those before it that matter for its keys, which may be held until the end.

        Also whether the batch is in order, which is usual: no event of these keys is as late as the batch begins.
        Then the target's own rows say all about them, and most files of the log need not be read.
        """
        spark = events.sparkSession
        if logged.before is None:
            yield _both(events, None), not logged.truncates
            return
        if logged.truncates:
            yield _both(events, self.log.events(spark, logged.before)), False
            return
        keys = events.select("key").distinct()
        keys = sf.broadcast(keys) if few else keys
        late = None if logged.late is False else self._late(events, keys, logged, changes)
        if not self.log.keeps_rows:
            yield _both(events, late), late is None
            return
        current = None
        if late is None or late.isEmpty():
            current = current_events(spark.read.format("delta").load(self.path), changes)
        if current is None:
            older = self.log.events(spark, logged.before)
            yield _both(events, older.join(keys, "key", "left_semi")), False
            return
        current = current.join(keys, "key", "left_semi")
        if not few:
            yield _both(events, current), True
            return
        held = current.localCheckpoint()  # so that the table is read by all tasks, and the rest takes one
        try:
            yield _both(events, held).coalesce(1), True
        finally:
            _jvm.release(held)

    def _late(
        self, events: DataFrame, keys: DataFrame, logged: LoggedBatch, changes: ResolvedChanges
    ) -> DataFrame | None:
        """Returns older events of these keys that may be as late as the batch begins; None without a file of such."""
        older = self.log.events(events.sparkSession, logged.before)
        late = older.where(Order(changes.sequence_type).reaches(sf.col("sequence"), logged.earliest))
        return late.join(keys, "key", "left_semi") if logged.late or late.inputFiles() else None

    def _with_truncate(self, events: DataFrame) -> DataFrame:
        """Adds `truncated_at`, the newest truncate of the target."""
        if not self.truncates:
            return events.withColumn("truncated_at", sf.lit(None).cast(events.schema["sequence"].dataType))
        log = self.log.events(events.sparkSession)
        truncates = log.where(sf.col("kind") == TRUNCATE).agg(sf.max("sequence").alias("truncated_at"))
        return events.crossJoin(sf.broadcast(truncates))

    def _tidy(self, rows: DataFrame) -> None:
        if self._batches % _BATCHES_PER_TIDYING == 0:
            self.log.tidy(rows.sparkSession)
        self._batches += 1


def _both(events: DataFrame, older: DataFrame | None) -> DataFrame:
    """Returns fresh and older events; of an older one without `row` nothing more is known."""
    fresh = events.withColumn("fresh", sf.lit(True))
    if older is None:
        return fresh
    return fresh.unionByName(older.drop("arrived").withColumn("fresh", sf.lit(False)), allowMissingColumns=True)
