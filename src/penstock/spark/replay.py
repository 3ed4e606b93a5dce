"""Moves rows of a quarantine that pass now into their table, each once.

Two tables cannot be changed in one commit, so the way has three, each of which may be repeated:

1. the rows that pass are marked in the quarantine with the number of this replay;
2. the marked rows are appended to the table, under that number as Delta's transaction version;
3. the marked rows are deleted from the quarantine.

Whoever finds marked rows goes on at 2, which does nothing if it was done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import ConfigError
from penstock.graph import quarantine
from penstock.graph.elements import Expectation, OnViolation, Table, has_uniqueness
from penstock.graph.schema import Schema
from penstock.graph.sql_names import quoted
from penstock.spark import _jvm
from penstock.spark.conform import conform
from penstock.spark.expectations import broken_rules
from penstock.spark.translate import reason_of
from penstock.spark.uniqueness import mark_repeats
from penstock.spark.writes import append_to_table

_ROW, _RULES = "row", "rules"


@dataclass(frozen=True, slots=True)
class QuarantineReplay:
    """The replay of one table's quarantine, by the only process that writes to either.

    `declared` are the columns in which the table takes its rows, None for those of its queries.
    `on_moved` is called with a replay's number and its rows after they are in the table, perhaps a second
    time with the same numbers after a crash.
    """

    spark: SparkSession
    table: Table
    path: str
    declared: Schema | None
    on_moved: Callable[[int, int], None]

    def run(self, where: str | None) -> int:
        """Moves the rows that pass, and those that an earlier replay left on the way; returns how many.

        Raises:
            ConfigError: REPLAY_CONDITION_INVALID.
            AnalysisException: an expectation does not resolve against the rows of the quarantine.
        """
        aside = DeltaTable.forPath(self.spark, quarantine.quarantine_path(self.path))
        moved = sum(self._move(aside, number) for number in self._marked(aside))
        rows = aside.toDF().where(sf.col(quarantine.REPLAY).isNull())
        if where is not None:
            rows = self._chosen(rows, where)
        number = self._mark(aside, rows)
        return moved + self._move(aside, number)

    def _chosen(self, rows: DataFrame, where: str) -> DataFrame:
        try:
            return rows.where(where)
        except AnalysisException as error:
            raise ConfigError("REPLAY_CONDITION_INVALID", condition=where, reason=reason_of(error)) from None

    def _marked(self, aside: DeltaTable) -> list[int]:
        marks = aside.toDF().where(sf.col(quarantine.REPLAY).isNotNull()).select(quarantine.REPLAY).distinct()
        return sorted(int(row[0]) for row in marks.collect())

    def _mark(self, aside: DeltaTable, rows: DataFrame) -> int:
        """Marks the rows that pass, tells of the others which rules they break now; returns the replay's number.

        It is the quarantine's version, which only grows.
        """
        number = int(aside.history(1).collect()[0]["version"])
        held = rows.localCheckpoint()
        try:
            rules = [_as_quarantining(each) for each in self.table.expectations]
            stored = self.spark.read.format("delta").load(self.path) if has_uniqueness(self.table) else None
            marked = held if stored is None else mark_repeats(held, rules, stored)
            outcome = broken_rules(marked, rules, dataset=self.table.identifier)
            row = sf.col(quarantine.ROW_ID).alias(_ROW)  # a column of its own: MERGE refuses the quarantine's twice
            judged = marked.select(row, outcome.alias(_RULES)).localCheckpoint()
            try:
                same = f"aside.{quarantine.ROW_ID} = judged.{_ROW}"
                (
                    aside.alias("aside")
                    .merge(judged.alias("judged"), same)
                    .whenMatchedUpdate(f"judged.{_RULES} IS NULL", {quarantine.REPLAY: sf.lit(str(number))})
                    .whenMatchedUpdate(
                        f"judged.{_RULES} <> aside.{quarantine.RULES}", {quarantine.RULES: f"judged.{_RULES}"}
                    )
                    .execute()
                )
            finally:
                _jvm.release(judged)
        finally:
            _jvm.release(held)
        return number

    def _move(self, aside: DeltaTable, number: int) -> int:
        marked = sf.col(quarantine.REPLAY) == str(number)
        rows = aside.toDF().where(marked)
        count = rows.count()
        if count == 0:
            return 0
        data = [sf.col(quoted(name)) for name in rows.columns if not name.startswith(quarantine.RESERVED_PREFIX)]
        app_id = f"quarantine replay {aside.detail().collect()[0]['id']}"
        good = rows.select(*data)
        append_to_table(good if self.declared is None else conform(good, self.declared), self.path, (app_id, number))
        self.on_moved(number, count)
        aside.delete(marked)
        return count


def _as_quarantining(expectation: Expectation) -> Expectation:
    """Whatever keeps a row out of its table keeps it in quarantine."""
    if expectation.on_violation is OnViolation.WARN:
        return expectation
    return replace(expectation, on_violation=OnViolation.QUARANTINE)
