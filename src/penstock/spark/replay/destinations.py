"""Where the rows of a quarantine go once nothing keeps them out any more, and which rules they must meet there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph import quarantine
from penstock.graph.elements import EMPTY, ChangeFlow, Expectation, OnViolation, Table, has_uniqueness
from penstock.graph.schema import Schema
from penstock.graph.sql_names import quoted
from penstock.spark.delta.conform import TableColumns, conform
from penstock.spark.expectations.observed import broken_rules
from penstock.spark.expectations.uniqueness import mark_repeats
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.changes.resolve import judged_expectations
from penstock.spark.writers.changes.writer import ChangeWriter

ROW, RULES = "row", "rules"
"""The columns of a judgement: the `ROW_ID` of a row, and what `broken_rules` says of it."""


class Destination(Protocol):
    """Takes rows of a quarantine, once per transaction."""

    @property
    def key(self) -> str:
        """Identifies a destination among those of one table, from replay to replay."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Spark's settings while rows are judged and taken."""
        ...

    @property
    def claims(self) -> Column:
        """Which rows of the quarantine go here; a condition on its columns."""
        ...

    def judge(self, rows: DataFrame) -> DataFrame:
        """Returns `ROW` and `RULES` of each row, lazily; `rows` are held, and are executed several times.

        Raises:
            AnalysisException: an expectation does not resolve against the rows.
        """
        ...

    def take(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> MergedRows | None:
        """Brings `count` rows that passed into the table, under a Delta transaction (app id, version).

        A repetition changes nothing, or completes what was half done. Returns what became of them, where
        they were not just added.
        """
        ...


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """Adds rows to the table at `path`, whichever flow quarantined them.

    `declared` are the columns in which the table takes its rows, None for those of its queries.
    """

    table: Table
    path: str
    declared: Schema | None
    settings: Mapping[str, str] = field(default_factory=lambda: EMPTY)

    @property
    def key(self) -> str:
        """There is one such destination only."""
        return ""

    @property
    def claims(self) -> Column:
        """All rows."""
        return sf.lit(True)

    def judge(self, rows: DataFrame) -> DataFrame:
        """See `Destination`; unique keys are compared with the rows of the table."""
        rules = [as_quarantining(each) for each in self.table.expectations]
        if has_uniqueness(self.table):
            rows = mark_repeats(rows, rules, rows.sparkSession.read.format("delta").load(self.path))
        return judgement(rows, rules, self.table)

    def take(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> None:
        """See `Destination`."""
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
    """Applies the events that one flow quarantined; a `Destination` of the replay of its target.

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
        """See `Destination`."""
        events = self._events(rows, quarantine.ROW_ID)
        rules = [as_quarantining(each) for each in judged_expectations(self.flow, events, self.table.expectations)]
        return judgement(events, rules, self.table)

    def take(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> MergedRows:
        """See `Destination`."""
        return self.writer.apply(self._events(rows), transaction, count)

    def _events(self, rows: DataFrame, *also: str) -> DataFrame:
        """Returns the columns of the flow's source; the quarantine has those of all flows, in types of the first."""
        return conform(rows, self.columns, *also)
