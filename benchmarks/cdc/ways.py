"""The ways in which the benchmark applies changes to a table: change flows, and a MERGE as a careful person writes it.

The MERGE by hand takes the newest event of each key; the sequence is a column of the table, without tombstones.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from delta.tables import DeltaTable
from deltalake import DeltaTable as StoredTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.errors import SourceLocation
from penstock.graph.companions.quarantine import quarantine_path
from penstock.graph.elements import ChangeFlow, ColumnSelection, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.spark.delta.tables import create_table
from penstock.spark.writers.changes.log import ChangeLog, LoggedBatch, Order
from penstock.spark.writers.changes.resolve import resolve_changes
from penstock.spark.writers.changes.writer import ChangeWriter

_TARGET = Identifier("bench", "customers")
_SCHEMA = "id LONG, at LONG, op STRING, name STRING, city STRING, amount DOUBLE"


class Way(Protocol):
    """Applies batches, numbered from 0, to a table of its own at `path`."""

    path: str

    @property
    def logged(self) -> float:
        """Seconds that the last batch took to be logged."""

    def apply(self, batch: DataFrame, number: int, count: int) -> None:
        """Applies a batch of `count` events."""


@dataclass(frozen=True, slots=True)
class _TimedLog(ChangeLog):
    seconds: list[float] = field(default_factory=list)

    def append(self, events: DataFrame, order: Order, *, few: bool, transaction: tuple[str, int]) -> LoggedBatch:
        started = time.monotonic()
        logged = ChangeLog.append(self, events, order, few=few, transaction=transaction)
        self.seconds.append(time.monotonic() - started)
        return logged


class ChangeFlowWay:
    """What a change flow does with a batch once its rows are checked."""

    def __init__(self, spark: SparkSession, path: str, scd_type: Literal[1, 2], properties: Mapping[str, str]) -> None:
        flow = ChangeFlow(
            name="bench",
            target=_TARGET,
            function=lambda: None,
            location=SourceLocation("bench.py", 1),
            keys=("id",),
            sequence_by="at",
            scd_type=scd_type,
            apply_as_deletes="op = 'D'",
            columns=ColumnSelection(("op", "at"), excluded=True),
        )
        changes = resolve_changes(flow, spark.createDataFrame([], _SCHEMA))
        table = StreamingTable(identifier=_TARGET, location=flow.location)
        create_table(spark, table, path=path, schema=Schema(changes.target_schema.json()), properties=properties)
        self.path = path
        self._log = _TimedLog(
            f"{path}_log",
            quarantine_path(path),
            keeps_rows=changes.applied.keeps_rows,
            tombstone_seconds=172_800,
        )
        self._writer = ChangeWriter(flow, path, self._log, truncates=False)

    @property
    def logged(self) -> float:
        return self._log.seconds[-1]

    def apply(self, batch: DataFrame, number: int, count: int) -> None:
        self._writer.apply(batch, ("bench", number), count)


class ByHand:
    """One MERGE, as a careful person would write it."""

    logged = 0.0

    def __init__(self, spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
        self.path = path
        schema = spark.createDataFrame([], _SCHEMA).drop("op").schema
        builder = DeltaTable.createIfNotExists(spark).location(path).addColumns(schema)
        for name, value in properties.items():
            builder = builder.property(name, value)
        builder.execute()

    def apply(self, batch: DataFrame, number: int, count: int) -> None:
        if number == 0:
            batch.drop("op").write.format("delta").mode("append").save(self.path)
            return
        columns = ["id", "at", "name", "city", "amount"]
        newest = batch.groupBy("id").agg(sf.max_by(sf.struct("op", *columns[1:]), "at").alias("e")).select("id", "e.*")
        values = {name: f"s.{name}" for name in columns}
        (
            DeltaTable.forPath(batch.sparkSession, self.path)
            .alias("t")
            .merge(sf.broadcast(newest).alias("s"), "t.id = s.id")
            .whenMatchedDelete("s.op = 'D' AND s.at > t.at")
            .whenMatchedUpdate("s.at > t.at", dict(values))
            .whenNotMatchedInsert("s.op = 'U'", dict(values))
            .execute()
        )


def steps(way: Way, seconds: float) -> dict[str, float]:
    """Returns the seconds of the last batch, which took `seconds`, by what they went to."""
    [commit] = StoredTable(way.path).history(1)
    metrics = commit.get("operationMetrics", {})
    found = {name: int(metrics.get(f"{metric}TimeMs", 0)) / 1000 for name, metric in _METRICS.items()}
    parts = {"log": way.logged, **found}
    return {name: round(part, 3) for name, part in parts.items()} | {"other": round(seconds - sum(parts.values()), 3)}


_METRICS = {"merge: source": "materializeSource", "merge: find rows": "scan", "merge: write": "rewrite"}
