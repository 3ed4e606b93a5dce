"""Moves rows of a quarantine that pass now into their table, each once.

Two tables cannot be changed in one commit, so the way has three, each of which may be repeated:

1. the rows that pass are marked in the quarantine with the number of this replay;
2. the marked rows are brought into the table, under that number as Delta's transaction version;
3. the marked rows are deleted from the quarantine.

Whoever finds marked rows goes on at 2, which does nothing if it was done. A `Destination` takes the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import ConfigError
from penstock.graph.companions import quarantine
from penstock.graph.elements import EMPTY, ChangeFlow, Expectation, OnViolation, Table, has_uniqueness
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.delta.conform import TableColumns, conform
from penstock.spark.expectations.observed import broken_rules
from penstock.spark.expectations.uniqueness import mark_repeats
from penstock.spark.failures.causes import reason_of
from penstock.spark.session.query_settings import query_settings
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.changes.resolve import judged_expectations
from penstock.spark.writers.changes.writer import ChangeWriter

ROW, RULES = "row", "rules"
"""The columns of a judgement: the `ROW_ID` of a row, and what `broken_rules` says of it."""


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """Adds rows to the table at `path`, whichever flow quarantined them.

    `declared` are the columns in which the table takes its rows, None for those of its queries. `settings` are Spark's
    while rows are judged and taken.
    """

    table: Table
    path: str
    declared: Schema | None
    settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def key(self) -> str:
        """Identifies a destination among those of one table, from replay to replay: there is one of these only."""
        return ""

    @property
    def claims(self) -> Column:
        """Which rows of the quarantine go here; a condition on its columns: all."""
        return sf.lit(True)

    def judge(self, rows: DataFrame) -> DataFrame:
        """Returns `ROW` and `RULES` of each row, lazily; `rows` are held, and are executed several times.

        Unique keys are compared with the rows of the table.

        Raises:
            AnalysisException: an expectation does not resolve against the rows.
        """
        rules = [as_quarantining(each) for each in self.table.expectations]
        if has_uniqueness(self.table):
            rows = mark_repeats(rows, rules, rows.sparkSession.read.format("delta").load(self.path))
        return judgement(rows, rules, self.table)

    def take(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> None:
        """Brings rows that passed into the table, under a Delta transaction (app id, version), once."""
        data = [sf.col(quoted(name)) for name in rows.columns if not name.startswith(quarantine.RESERVED_PREFIX)]
        good = rows.select(*data)
        own = TableColumns(self.path).align(good) if self.declared is None else conform(good, self.declared)
        append_to_table(own, self.path, transaction)


def judgement(rows: DataFrame, rules: list[Expectation], table: Table) -> DataFrame:
    """Returns `ROW` and `RULES` of rows that have a `ROW_ID` and the columns that the rules need."""
    outcome = broken_rules(rows, rules, dataset=table.identifier)
    return rows.select(sf.col(quarantine.ROW_ID).alias(ROW), outcome.alias(RULES))


def as_quarantining(expectation: Expectation) -> Expectation:
    """Whatever keeps a row out of its table keeps it in quarantine."""
    if expectation.on_violation is OnViolation.WARN:
        return expectation
    return replace(expectation, on_violation=OnViolation.QUARANTINE)


@dataclass(frozen=True, slots=True)
class ReplayedEvents:
    """Applies the events that one flow quarantined: what `AppendedRows` is for them.

    `columns` are those of the flow's source. The change log gives an event its place by its sequence, so it
    does not matter how much has been applied since it was quarantined.
    """

    flow: ChangeFlow
    table: Table
    columns: Schema
    writer: ChangeWriter
    settings: Mapping[str, str]

    @property
    def key(self) -> str:
        """The name of the flow, which may be spelt otherwise the next time."""
        return self.flow.name.casefold()

    @property
    def claims(self) -> Column:
        """The events of the flow: another one would read keys, deletes and sequence in them differently."""
        return sf.lower(quarantine.FLOW) == self.flow.name.lower()

    def judge(self, rows: DataFrame) -> DataFrame:
        """See `AppendedRows.judge`."""
        events = self._events(rows, quarantine.ROW_ID)
        rules = [as_quarantining(each) for each in judged_expectations(self.flow, events, self.table.expectations)]
        return judgement(events, rules, self.table)

    def take(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> MergedRows:
        """Applies `count` events that passed, once; what was half done is completed. Returns what became of them."""
        return self.writer.apply(self._events(rows), transaction, count)

    def _events(self, rows: DataFrame, *also: str) -> DataFrame:
        """Returns the columns of the flow's source; the quarantine has those of all flows, in types of the first."""
        return conform(rows, self.columns, *also)


Destination = AppendedRows | ReplayedEvents
"""Takes rows of a quarantine, once per transaction."""


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
