"""Change events that come back from quarantine: applied by their flow, as if they had just arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph import quarantine
from penstock.graph.elements import ChangeFlow, Table
from penstock.graph.schema import Schema
from penstock.spark.delta.conform import conform
from penstock.spark.replay.destination import as_quarantining, judgement
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.changes.resolve import judged_expectations
from penstock.spark.writers.changes.writer import ChangeWriter


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
