"""Moves rows of a quarantine that pass now into their table, each once.

Two tables cannot be changed in one commit, so the way has three, each of which may be repeated:

1. the rows that pass are marked in the quarantine with the number of this replay;
2. the marked rows are brought into the table, under that number as Delta's transaction version;
3. the marked rows are deleted from the quarantine.

Whoever finds marked rows goes on at 2, which does nothing if it was done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import ConfigError
from penstock.graph import quarantine
from penstock.spark import _jvm
from penstock.spark.failures.translate import reason_of
from penstock.spark.replay.destinations import ROW, RULES, Destination
from penstock.spark.session.query_settings import query_settings
from penstock.spark.writers.changes.merge import MergedRows


@dataclass(frozen=True, slots=True)
class QuarantineReplay:
    """The replay of the quarantine of the table at `path`, by the only process that writes to either.

    Rows that none of the `destinations` claims stay where they are. `on_moved` is called with a replay's number,
    its rows and what a MERGE did with them, after they are in the table, perhaps a second time with the same number
    after a crash.
    """

    spark: SparkSession
    path: str
    destinations: tuple[Destination, ...]
    on_moved: Callable[[int, int, MergedRows | None], None]

    def run(self, where: str | None) -> int:
        """Moves the rows that pass, and those that an earlier replay left on the way; returns how many.

        Raises:
            ConfigError: REPLAY_CONDITION_INVALID.
            AnalysisException: an expectation does not resolve against the rows of the quarantine.
        """
        quarantine_table = DeltaTable.forPath(self.spark, quarantine.quarantine_path(self.path))
        moved = sum(self._move(quarantine_table, number) for number in self._marked(quarantine_table))
        rows = quarantine_table.toDF().where(sf.col(quarantine.REPLAY).isNull())
        if where is not None:
            rows = self._chosen(rows, where)
        number = self._mark(quarantine_table, rows)
        return moved + self._move(quarantine_table, number)

    def _chosen(self, rows: DataFrame, where: str) -> DataFrame:
        try:
            return rows.where(where)
        except AnalysisException as error:
            raise ConfigError("REPLAY_CONDITION_INVALID", condition=where, reason=reason_of(error)) from None

    def _marked(self, quarantine_table: DeltaTable) -> list[int]:
        marks = (
            quarantine_table.toDF().where(sf.col(quarantine.REPLAY).isNotNull()).select(quarantine.REPLAY).distinct()
        )
        return sorted(int(row[0]) for row in marks.collect())

    def _mark(self, quarantine_table: DeltaTable, rows: DataFrame) -> int:
        """Marks the rows that pass, records for the others which rules they break now; returns the replay's number.

        It is the quarantine's version, which only grows.
        """
        number = int(quarantine_table.history(1).collect()[0]["version"])
        with ExitStack() as held:
            judgements = []
            for each in self.destinations:
                with query_settings(self.spark, each.settings):
                    mine = held.enter_context(_held(rows.where(each.claims)))
                    judgements.append(held.enter_context(_held(each.judge(mine))))
            judged = functools.reduce(DataFrame.unionByName, judgements)
            (
                quarantine_table.alias("aside")
                .merge(judged.alias("judged"), f"aside.{quarantine.ROW_ID} = judged.{ROW}")
                .whenMatchedUpdate(f"judged.{RULES} IS NULL", {quarantine.REPLAY: sf.lit(str(number))})
                .whenMatchedUpdate(f"judged.{RULES} <> aside.{quarantine.RULES}", {quarantine.RULES: f"judged.{RULES}"})
                .execute()
            )
        return number

    def _move(self, quarantine_table: DeltaTable, number: int) -> int:
        marked = sf.col(quarantine.REPLAY) == str(number)
        app_id = f"quarantine replay {quarantine_table.detail().collect()[0]['id']}"
        moved, merged = 0, None
        for each in self.destinations:
            with (
                query_settings(self.spark, each.settings),
                _held(quarantine_table.toDF().where(marked & each.claims)) as rows,
            ):
                if (count := rows.count()) == 0:
                    continue
                moved += count
                done = each.take(rows, (f"{app_id} {each.key}".rstrip(), number), count)
                merged = done if merged is None or done is None else merged + done
        if moved == 0:
            return 0
        self.on_moved(number, moved, merged)
        quarantine_table.delete(marked & functools.reduce(Column.__or__, [each.claims for each in self.destinations]))
        return moved


@contextmanager
def _held(rows: DataFrame) -> Iterator[DataFrame]:
    held = rows.localCheckpoint()
    try:
        yield held
    finally:
        _jvm.release(held)
