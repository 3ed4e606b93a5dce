"""Any order of the events and any cut into batches gives the table that a model in plain Python computes."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from tests.oracle.tables import assert_table
from tests.spark.changes.model import Event, Settings, histories, newest_rows

from penstock.errors import SourceLocation
from penstock.graph.companions.quarantine import TIME, quarantine_path
from penstock.graph.elements import ChangeFlow, ColumnSelection, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.spark.delta.tables import create_table
from penstock.spark.writers.changes import log as log_module
from penstock.spark.writers.changes import writer as writer_module
from penstock.spark.writers.changes.computed_rows import change_events
from penstock.spark.writers.changes.log import ChangeLog, Order
from penstock.spark.writers.changes.merge import MergedRows
from penstock.spark.writers.changes.resolve import resolve_changes
from penstock.spark.writers.changes.writer import ChangeWriter

TARGET = Identifier("shop", "target")
SCHEMA = "id LONG, at LONG, op STRING, a STRING, b LONG, names ARRAY<STRING>"
_numbers = itertools.count()


class Target:
    """An empty target and the writer of one flow into it."""

    def __init__(self, spark: SparkSession, folder: Path, scd_type: Literal[1, 2], choice: Settings) -> None:
        self.spark = spark
        self.path = str(folder / f"target{next(_numbers)}")
        self.flow = ChangeFlow(
            name="f",
            target=TARGET,
            function=lambda: None,
            location=SourceLocation("p.py", 1),
            keys=("id",),
            sequence_by="at",
            scd_type=scd_type,
            apply_as_deletes="op = 'D'",
            apply_as_truncates="op = 'T'" if scd_type == 1 else None,
            columns=ColumnSelection(("id", "a", "b")),
            ignore_null_updates=ColumnSelection(tuple(choice.ignoring)) if choice.ignoring else None,
            track_history=None if choice.tracked is None else ColumnSelection(tuple(choice.tracked)),
            columns_to_update="names" if choice.named else None,
        )
        changes = resolve_changes(self.flow, self.frame([]))
        table = StreamingTable(identifier=TARGET, location=self.flow.location)
        create_table(spark, table, path=self.path, schema=Schema(changes.target_schema.json()), properties={})
        log = ChangeLog(
            f"{self.path}_log",
            quarantine_path(self.path),
            keeps_rows=changes.applied.keeps_rows,
            tombstone_seconds=1000,
        )
        self.writer = ChangeWriter(self.flow, self.path, log, truncates=scd_type == 1)

    def frame(self, events: list[Event]) -> DataFrame:
        rows = [
            (each.key, each.at, each.kind, each.values.get("a"), each.values.get("b"), each.names and list(each.names))
            for each in events
        ]
        return self.spark.createDataFrame(rows, SCHEMA)

    def apply(self, events: list[Event], batch: int) -> MergedRows:
        return self.writer.apply(self.frame(events), ("app", batch), len(events))


def arrivals(random: Random, *, truncates: bool, named: bool) -> tuple[list[Event], list[list[Event]]]:
    """Events of few keys whose sequences are all different, and the three batches in which they arrive.

    The first two are in the order of the sequences, the last one has all that is late, and some events again.
    """
    events = []
    for at in range(1, random.randint(40, 60)):
        kind = random.choice("UUUUUD" + ("T" if truncates and at % 10 == 0 else ""))
        values = {"a": random.choice([None, "x", "y"]), "b": random.choice([None, 1, 2])}
        names = random.choice([frozenset("a"), frozenset("b"), frozenset("ab"), None]) if named else None
        events.append(Event(random.randint(1, 8), at, kind, values if kind == "U" else {}, names))
    late = random.sample(events, len(events) // 3)
    in_order = [event for event in events if event not in late]
    cut = random.randrange(len(in_order))
    late += random.sample(events, 5)
    random.shuffle(late)
    return events, [in_order[:cut], in_order[cut:], late]


CHOICES: dict[str, tuple[Literal[1, 2], Settings]] = {
    "newest": (1, Settings()),
    "newest, filled": (1, Settings(ignoring=frozenset("ab"))),
    "newest, columns named": (1, Settings(named=True)),
    "history": (2, Settings()),
    "history, columns named": (2, Settings(named=True)),
    "history, filled, one column tracked": (2, Settings(ignoring=frozenset("b"), tracked=frozenset("a"))),
}
# test_sql_clauses.py and tests/spark/published have others, in any order too. More of all: PENSTOCK_CHANGE_EXAMPLES=5.
_more = int(os.environ.get("PENSTOCK_CHANGE_EXAMPLES", "0"))
EXAMPLES: list[Any] = [pytest.param("newest, columns named", 0, marks=pytest.mark.slow)]
EXAMPLES += [pytest.param("history, filled, one column tracked", 0, marks=pytest.mark.slow)]
EXAMPLES += [("history, filled, one column tracked", "with one MERGE")]  # quick enough for CI
EXAMPLES += [(choice, example) for choice in CHOICES for example in range(1, _more + 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("targets")


@pytest.mark.parametrize(("choice", "example"), EXAMPLES)
def test_any_order_and_any_batches_give_the_same_table(
    spark: SparkSession, folder: Path, choice: str, example: int | str
) -> None:
    scd_type, wanted = CHOICES[choice]
    events, batches = arrivals(Random(f"{choice} {example}"), truncates=scd_type == 1, named=wanted.named)
    if example == "with one MERGE":
        batches = [batches[0] + batches[1], batches[2]]
    target = Target(spark, folder, scd_type, wanted)
    for number, batch in enumerate(batches):
        target.apply(batch, number)
    model = newest_rows if scd_type == 1 else histories
    assert_table(Path(target.path), model(events, wanted))


def test_a_replayed_batch_changes_nothing_and_a_half_written_one_is_completed(
    spark: SparkSession, folder: Path
) -> None:
    def upsert(key: int, at: int, a: str) -> Event:
        return Event(key, at, "U", {"a": a, "b": at})

    target = Target(spark, folder, 1, Settings())
    assert target.apply([upsert(1, 1, "x"), upsert(2, 1, "y"), upsert(2, 0, "old")], 0) == MergedRows(inserted=2)
    second = [upsert(1, 3, "z"), Event(2, 2, "D", {}), upsert(3, 1, "w")]
    assert target.apply(second, 1) == MergedRows(inserted=1, updated=1, deleted=1)
    version, log_version = DeltaTable(target.path).version(), DeltaTable(target.writer.log.path).version()
    assert target.apply(second, 1) == MergedRows()
    assert DeltaTable(target.path).version() == version
    assert DeltaTable(target.writer.log.path).version() == log_version
    assert DeltaTable(target.path).transaction_version("app") == 1

    # The process died between the two commits: the log has the events, and the target knows nothing of them.
    target = Target(spark, folder, 1, Settings())
    target.apply([upsert(1, 1, "x"), upsert(2, 1, "y")], 0)
    changes = resolve_changes(target.flow, target.frame([]))
    fresh = change_events(target.frame(second), changes)
    target.writer.log.append(fresh, Order(changes.sequence_type), few=True, transaction=("app", 1))
    target.apply(second, 1)
    rows: list[dict[str, Any]] = [{"id": 1, "a": "z", "b": 3}, {"id": 3, "a": "w", "b": 1}]
    assert_table(Path(target.path), rows)
    assert spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None


@pytest.mark.slow
def test_a_tidied_log_knows_as_much_and_forgets_old_deletes_only(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "_MOST_FILES", 1)
    monkeypatch.setattr(writer_module, "_BATCHES_PER_TIDYING", 1)

    def upsert(key: int, at: int) -> Event:
        return Event(key, at, "U", {"a": "x", "b": at})

    target = Target(spark, folder, 1, Settings())
    batches = [[upsert(1, 5), upsert(2, 5)], [Event(2, 7, "D", {})], [upsert(1, 4), upsert(2, 6)]]
    for number, batch in enumerate(batches):
        target.apply(batch, number)
    log = target.writer.log
    assert any(map(overwrites, DeltaTable(log.path).history())), "the third batch tidies the log first"
    assert_table(Path(target.path), [{"id": 1, "a": "x", "b": 5}])

    # While an event waits that came before the delete was old enough, the delete stays; else it may be forgotten.
    target.writer.log = replace(log, tombstone_seconds=0)
    before = datetime.now(UTC) - timedelta(days=1)
    spark.createDataFrame([(before,)], f"{TIME} TIMESTAMP").write.format("delta").save(log.quarantine)
    target.apply([upsert(2, 6)], 3)
    assert_table(Path(target.path), [{"id": 1, "a": "x", "b": 5}])
    shutil.rmtree(log.quarantine)
    target.apply([upsert(2, 6), upsert(1, 4)], 4)
    assert_table(Path(target.path), [{"id": 1, "a": "x", "b": 5}, {"id": 2, "a": "x", "b": 6}])


def overwrites(entry: dict[str, Any]) -> bool:
    """Whether a commit of a Delta table's history replaced what was there."""
    return bool(entry["operationParameters"]["mode"] == "Overwrite")
