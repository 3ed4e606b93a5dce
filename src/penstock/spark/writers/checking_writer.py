"""Writes batches whose rows are judged before one of them is written: into a table, and its quarantine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.graph.companions import quarantine
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import OutputMode, Table, has_uniqueness
from penstock.graph.schema.table_schema import Schema
from penstock.spark import _jvm
from penstock.spark.accelerators.log_checkpoints import checkpoint_if_due
from penstock.spark.delta.conform import TableColumns, conform
from penstock.spark.delta.quick_append import commit_lock
from penstock.spark.delta.tables import cluster_table
from penstock.spark.expectations.observed import ObservedExpectations, broken_rules, count_broken
from penstock.spark.expectations.quarantine import append_few, data_columns, quarantined, with_source_of_few
from penstock.spark.expectations.uniqueness import PinnedVersion, mark_repeats
from penstock.spark.streams.writes import (
    BatchFailure,
    Replacement,
    append_to_table,
    await_counters,
    on_own_session,
    replace_table,
    sink_transaction_of,
    transaction_of,
)
from penstock.spark.writers.changes.merge import MergedRows

Counters = Mapping[str, Mapping[str, int]]
Apply = Callable[[DataFrame, tuple[str, int], int], MergedRows]
"""Brings rows into a table, once per transaction (app id, version); the last argument is how many rows there are."""


@dataclass(frozen=True, slots=True)
class CheckingWriter:
    """Writes the rows of one start of a flow into `table` where Delta's own sink is not enough.

    That is a table with a quarantine, unique keys or generated columns, or one whose rows are found by key.

    It is the writer of a streaming flow, and has `append` and `replace` for batch flows. A streaming batch
    has up to two commits, to the table and to its quarantine. Each carries the query's id and the
    batch's, so a batch that runs again after a crash between them writes only what is missing.
    `declared` are the columns in which the table takes its rows, None for those of the query; the quarantine
    always has the query's. The output mode `complete` replaces the rows of both in each batch.
    `checkpoints` is the folder of the flow's checkpoints. `apply` brings good rows into the table, once per
    transaction, where it is not enough to append them.
    """

    table: Table
    flow: str
    path: str
    checkpoints: str
    declared: Schema | None
    output_mode: OutputMode = OutputMode.APPEND
    apply: Apply | None = None
    _counters: dict[int, Counters] = field(default_factory=dict)
    _merged: dict[int, MergedRows] = field(default_factory=dict)
    _failures: list[BatchFailure] = field(default_factory=list)
    _columns: dict[str, TableColumns] = field(default_factory=dict)

    @property
    def observed(self) -> ObservedExpectations:
        """How to read the counters that this writer takes; they come from no query of Spark's."""
        identifier = self.table.identifier
        return ObservedExpectations(f"penstock:{identifier}:written", identifier, self.table.expectations, -1)

    @property
    def failure(self) -> BatchFailure | None:
        """Why the query ended, if a batch failed."""
        return self._failures[-1] if self._failures else None

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode(self.output_mode.value).foreachBatch(self._write_batch).start()

    def take_counters(self, batch_id: int) -> Counters:
        """Returns the counters of a batch once, by metric; nothing when it was not written by this process."""
        return self._counters.pop(batch_id, {})

    def take_merged(self, batch_id: int) -> MergedRows | None:
        """Returns once what `apply` did with a batch; of a batch query, this is the version of its transaction."""
        return self._merged.pop(batch_id, None)

    def append(
        self,
        frame: DataFrame,
        observed: Sequence[ObservedExpectations],
        *,
        transaction: tuple[str, int],
        conf: Mapping[str, str],
    ) -> Counters:
        """Appends a batch query's rows once per `transaction`; see `penstock.spark.streams.writes.append_rows`.

        The commit of the table ends the work, so the quarantine comes first; what an attempt that
        ended in between left there is replaced.
        """
        own, observations = on_own_session(frame, observed, conf)
        with self._alone(), self._judged(own, self._stored(own, None), eager=True) as rows:
            counters = self._counted(rows)
            if self._has_quarantine:
                flow = self.flow.replace("\\", "\\\\").replace("'", "\\'")
                rejected = self._aligned(self._rejected(rows, transaction[1]), self._quarantine)
                mine = f"{quarantine.FLOW} = '{flow}' AND {quarantine.BATCH} = {transaction[1]}"
                with commit_lock(self._quarantine):
                    writer = rejected.write.format("delta").mode("overwrite")
                    writer.option("mergeSchema", "true").option("replaceWhere", mine).save(self._quarantine)
            self._write(rows, transaction, counters)
        return {**await_counters(observations), self.observed.metric: counters}

    def replace(
        self,
        frame: DataFrame,
        observed: Sequence[ObservedExpectations],
        *,
        replacement: Replacement,
        conf: Mapping[str, str],
    ) -> Counters:
        """Replaces table and quarantine by a batch query's rows; see `penstock.spark.streams.writes.replace_rows`.

        The commit of the table ends the refresh, so the quarantine comes first.
        """
        own, observations = on_own_session(frame, observed, conf)
        with self._judged(own, None, eager=True) as rows:
            counters = self._counted(rows)
            if self._has_quarantine:
                replace_table(self._rejected(rows, None), self._quarantine, Replacement())
            replace_table(self._good(rows), self.path, replacement)
        return {**await_counters(observations), self.observed.metric: counters}

    def _write_batch(self, rows: DataFrame, batch_id: int) -> None:
        try:
            with self._alone(), self._judged(rows, self._stored(rows, batch_id), eager=False) as judged:
                counters = self._counted(judged)
                self._write(judged, (sink_transaction_of(rows), batch_id), counters, mode=self._mode)
                count = self.observed.quarantined(counters)
                if self._has_quarantine and (self._overwrites or count):
                    name = str(quarantine.quarantine_of(self.table.identifier))
                    self._quarantine_rows(judged, (transaction_of(rows, name), batch_id), count)
        except Exception as error:
            self._failures.append(BatchFailure(batch_id, error))
            raise
        checkpoint_if_due(rows.sparkSession, self.path)
        self._counters[batch_id] = {self.observed.metric: counters}

    def _write(
        self, judged: DataFrame, transaction: tuple[str, int], counters: Mapping[str, int], *, mode: str = "append"
    ) -> None:
        if self.apply is None:
            good = self._good(judged)
            good = good if self.declared is not None else self._aligned(good, self.path)
            append_to_table(good, self.path, transaction, mode=mode)
            if mode == "overwrite" and self.table.cluster_by:  # as `replace_table`
                cluster_table(judged.sparkSession, self.path, self.table.cluster_by)
        else:
            self._merged[transaction[1]] = self.apply(self._good(judged), transaction, self.observed.kept(counters))

    def _quarantine_rows(self, judged: DataFrame, transaction: tuple[str, int], count: int) -> None:
        with commit_lock(self._quarantine):
            if self._overwrites or not append_few(judged, self._quarantine, transaction, flow=self.flow, count=count):
                rejected = self._aligned(self._rejected(judged, transaction[1]), self._quarantine)
                append_to_table(rejected, self._quarantine, transaction, mode=self._mode)

    @property
    def _mode(self) -> str:
        return "overwrite" if self._overwrites else "append"

    @property
    def _overwrites(self) -> bool:
        return self.output_mode is OutputMode.COMPLETE

    @property
    def _has_quarantine(self) -> bool:
        return has_quarantine(self.table)

    @property
    def _quarantine(self) -> str:
        return quarantine.quarantine_path(self.path)

    def _alone(self) -> threading.Lock | nullcontext[None]:
        """Keeps the table's other flows from adding a key between this one's look and its commit."""
        return _lock_of(self.path) if has_uniqueness(self.table) or self.apply is not None else nullcontext()

    def _stored(self, frame: DataFrame, batch_id: int | None) -> DataFrame | None:
        """Returns the rows with which keys are compared; None when there are none that stay."""
        if not has_uniqueness(self.table) or self._overwrites:
            return None
        reader = frame.sparkSession.read.format("delta")
        if batch_id is not None:
            pinned = PinnedVersion(self.path, self.checkpoints, str(self.table.identifier), self.flow)
            reader = reader.option("versionAsOf", pinned.of(sink_transaction_of(frame), batch_id))
        return reader.load(self.path)

    @contextmanager
    def _judged(self, frame: DataFrame, stored: DataFrame | None, *, eager: bool) -> Iterator[DataFrame]:
        """Adds what keeps each row out, and holds the rows, so that the sources are read and counted once.

        `eager` because counters observed below are reported for a job of the frame itself only.
        """
        expectations, held = self.table.expectations, []
        marked = frame
        try:
            if has_uniqueness(self.table):
                held.append(frame.localCheckpoint(eager))
                marked = mark_repeats(held[0], expectations, stored)
            outcome = broken_rules(marked, expectations, dataset=self.table.identifier)
            marked = with_source_of_few(marked.withColumn(quarantine.RULES, outcome))
            held.append(marked.localCheckpoint(eager))
            yield held[-1]
        finally:
            for rows in held:
                _jvm.release(rows)

    def _counted(self, rows: DataFrame) -> dict[str, int]:
        return count_broken(rows, self.table.expectations, quarantine.RULES)

    def _good(self, rows: DataFrame) -> DataFrame:
        good = rows.where(sf.col(quarantine.RULES).isNull()).select(*data_columns(rows))
        return good if self.declared is None else conform(good, self.declared)

    def _aligned(self, rows: DataFrame, path: str) -> DataFrame:
        return self._columns.setdefault(path, TableColumns(path)).align(rows)

    def _rejected(self, rows: DataFrame, batch_id: int | None) -> DataFrame:
        return quarantined(rows, flow=self.flow, batch_id=batch_id)


_locks: dict[str, threading.Lock] = {}


def _lock_of(path: str) -> threading.Lock:
    return _locks.setdefault(path, threading.Lock())
