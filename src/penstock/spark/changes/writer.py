"""Applies the batches of a change flow to its target."""

from __future__ import annotations

from dataclasses import dataclass

from deltalake import DeltaTable as StoredTable
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from penstock.graph.elements import ChangeFlow
from penstock.spark.changes.current import current_events, has_types
from penstock.spark.changes.events import TRUNCATE, change_events
from penstock.spark.changes.history import histories
from penstock.spark.changes.log import ChangeLog
from penstock.spark.changes.merge import MergedRows, insert_rows, merge_rows
from penstock.spark.changes.newest import newest_rows
from penstock.spark.changes.order import Order
from penstock.spark.changes.resolve import ResolvedChanges, resolve_changes
from penstock.spark.tables import add_missing_columns

_BROADCAST_ROWS = 100_000
_BATCHES_PER_TIDYING = 50


@dataclass(slots=True)
class ChangeWriter:
    """Applies events to the Delta table at `path`: first to the change log, then by one MERGE.

    The log makes a target's row a function of the key's events, so that neither their order nor their
    batches matter, and a batch that is replayed after a crash between the two commits completes the
    second. One flow at a time may write. `truncates` tells that one of the flows into the target truncates.
    """

    flow: ChangeFlow
    path: str
    log: ChangeLog
    truncates: bool
    _batches: int = 0
    _changes: ResolvedChanges | None = None

    def apply(self, rows: DataFrame, transaction: tuple[str, int]) -> MergedRows:
        """Applies events, each with a key and a sequence, under a Delta transaction (app id, version).

        `rows` is executed several times.
        """
        changes = self._resolved(rows)
        events = change_events(rows, changes)
        order = Order(changes.sequence_type)
        batch = events.agg(
            sf.count(sf.lit(1)).alias("events"),
            sf.count_if(sf.col("kind") == TRUNCATE).alias("truncates"),
            order.earliest(sf.col("sequence")).alias("earliest"),
        ).collect()[0]
        self._tidy(rows)
        few = batch["events"] <= _BROADCAST_ROWS
        older = self.log.events(rows.sparkSession)
        self.log.append(events.coalesce(1) if few else events, transaction=transaction)
        if batch["truncates"]:
            known, in_order = _both(events, older), False
        else:
            keys = events.select("key").distinct()
            known, in_order = self._known(events, sf.broadcast(keys) if few else keys, older, batch, changes)
        if changes.scd_type == 2:
            computed = histories(known, changes)
            computed = computed.where(~sf.col("remove")) if in_order else computed
        else:
            computed = newest_rows(self._with_truncate(known), changes)
        if older is None and self._takes_as_it_is(rows, changes):
            history = changes.scd_type == 2
            return insert_rows(computed, changes.row, path=self.path, history=history, transaction=transaction)
        return merge_rows(
            sf.broadcast(computed) if few and not batch["truncates"] else computed,
            changes.row,
            changes.keys,
            path=self.path,
            history=changes.scd_type == 2,
            only_current=in_order and changes.scd_type == 2,
            transaction=transaction,
        )

    def _resolved(self, rows: DataFrame) -> ResolvedChanges:
        """A query's columns stay the same from start to end, so the first batch settles them."""
        if self._changes is None:
            self._changes = resolve_changes(self.flow, rows)
            add_missing_columns(rows.sparkSession, self.path, self._changes.target_schema)
        return self._changes

    def _takes_as_it_is(self, rows: DataFrame, changes: ResolvedChanges) -> bool:
        """Whether the target has no rows, and the types of those that are computed."""
        target = rows.sparkSession.read.format("delta").load(self.path)
        return not StoredTable(self.path).file_uris() and has_types(target.schema, changes.row)

    def _known(
        self, events: DataFrame, keys: DataFrame, older: DataFrame | None, batch: Row, changes: ResolvedChanges
    ) -> tuple[DataFrame, bool]:
        """Returns the events of a batch and those before it that matter for their `keys`.

        Also whether the batch is in order, which is usual: no event of these keys is as late as the batch begins.
        Then the target's own rows say all about them, and most files of the log need not be read.
        """
        if older is None:
            return _both(events, None), True
        order = Order(changes.sequence_type)
        late = older.where(order.reaches(sf.col("sequence"), batch["earliest"]))
        none_late = not late.inputFiles()
        late = late.join(keys, "key", "left_semi")
        if not self.log.keeps_rows:
            return _both(events, None if none_late else late), none_late
        if none_late or late.isEmpty():
            target = events.sparkSession.read.format("delta").load(self.path)
            if (current := current_events(target, changes)) is not None:
                return _both(events, current.join(keys, "key", "left_semi")), True
        return _both(events, older.join(keys, "key", "left_semi")), False

    def _with_truncate(self, events: DataFrame) -> DataFrame:
        """Adds `truncated_at`, the newest truncate of the target."""
        if not self.truncates:
            return events.withColumn("truncated_at", sf.lit(None).cast(events.schema["sequence"].dataType))
        log = self.log.events(events.sparkSession)
        assert log is not None, "the batch was appended"
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
