"""Rows that break a quarantining expectation, against rows sorted out in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.events import UpdateState
from penstock.runtime import UpdateOutcome
from penstock.runtime.flows import streaming_flow
from penstock.spark.accelerators.accelerator import KNOWN_TRANSACTIONS
from penstock.spark.accelerators.known_transactions import remember_transactions
from penstock.spark.delta import quick_append
from penstock.spark.expectations.quarantine import append_few
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers import checking_writer

Row = dict[str, Any]
_ROWS: list[Row] = [
    {"id": n, "amount": None if n % 7 == 0 else n - 20, "name": [None, "", "Ann", "Zoë"][n % 4]} for n in range(60)
]
_DATA = ("id", "amount", "name")

ORDERS = """
def source():
    return spark.readStream.schema("id LONG, amount LONG, name STRING").json("in")

@dlt.table
@dlt.expect("named", "name <> ''")
@dlt.expect_or_drop("even", F.col("id") % 2 == 0)
@dlt.expect_or_quarantine("positive", "amount > 0")
@ps.expect_all_or_quarantine({"small": "amount < 35", "an 'id'": F.col("id").isNotNull()})
@dp.expect_or_fail("possible", "id >= 0")
def orders():
    return source()
"""
PIPELINE = (
    ORDERS
    + """
dlt.create_streaming_table("shared", expect_all_or_quarantine={"positive": "amount > 0"})

@dlt.append_flow(target="shared")
def from_stream():
    return source().where("id < 30")

@dlt.append_flow(target="shared", once=True)
def from_batch():
    return spark.range(100, 104).selectExpr("id", "id - 102 AS amount", "'once' AS name")

@dlt.table
@dlt.expect_or_quarantine("few", "rows < 8")
def by_name():
    return dlt.read("orders").groupBy("name").agg(F.count("*").alias("rows"))

@dlt.table
@dlt.expect_or_quarantine("few", "rows < 8")
def counted():
    return dlt.read_stream("orders").groupBy("name").agg(F.count("*").alias("rows"))

@dlt.view
@dlt.expect_or_quarantine("named", "name <> ''")
@dlt.expect_or_drop("even", "id % 2 = 0")
def named():
    return source()

@dlt.table
def names():
    return dlt.read_stream("named").select("name", "id")

@dlt.table
def name_ids():
    return dlt.read_stream("named").select("id")
"""
)


def _amount(row: Row) -> int:
    return -1 if row["amount"] is None else int(row["amount"])


def _broken(row: Row) -> list[str]:
    """The quarantining and dropping rules of `orders` that a row breaks, as declared."""
    rules = {
        "even": row["id"] % 2 == 0,
        "positive": _amount(row) > 0,
        "small": row["amount"] is not None and row["amount"] < 35,
        "an 'id'": True,
    }
    return [name for name, holds in rules.items() if not holds]


def _aside(project: PipelineProject, table: str) -> list[Row]:
    return read_table(project.path(f"{table}__quarantine"))


def _totals(project: PipelineProject, outcome: UpdateOutcome, table: str) -> Counter[str]:
    """Returns the rows read, written, dropped and quarantined by a table's flows in one update."""
    totals: Counter[str] = Counter()
    for event in project.events(outcome):
        progress = event.details.get("flow_progress", {})
        if event.origin.dataset_name == f"shop.{table}" and (metrics := progress.get("metrics")):
            totals["read"] += metrics["num_input_rows"]
            totals["written"] += metrics["num_output_rows"]
            totals["dropped"] += metrics["dropped_records"]
            totals["quarantined"] += metrics["quarantined_records"]
            assert metrics["quarantined_records"] == progress["data_quality"]["quarantined_records"]
    return totals


def _engine(project: PipelineProject, table: str) -> str:
    """Returns what wrote the last commit of a table."""
    [commit] = DeltaTable(project.path(table)).history(1)
    return str(commit["engineInfo"]).split("/")[0].split(":")[0]


def _assert_accounted(project: PipelineProject, outcome: UpdateOutcome, table: str, read: int) -> None:
    totals = _totals(project, outcome, table)
    assert totals["read"] == read
    assert totals["read"] == totals["written"] + totals["dropped"] + totals["quarantined"], totals


def test_each_row_is_in_its_table_or_in_quarantine(project: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> None:
    told: set[str] = set()

    def noting(spark: SparkSession, path: str) -> None:
        if remember_transactions(spark, path):
            told.add(Path(path).name)

    project.write(PIPELINE)
    project.arrive("1", _ROWS[:25])
    with monkeypatch.context() as patch:
        patch.setattr(streaming_flow, "remember_transactions", noting)
        first = project.run(refresh=("orders", "shared"))
    assert first.errors == ()
    if KNOWN_TRANSACTIONS.applies():
        assert told >= {"orders", "orders__quarantine", "shared", "shared__quarantine"}, "Delta is spared both looks"
    _assert_accounted(project, first, "orders", 25)
    assert _engine(project, "orders__quarantine") == "delta-rs", "few rows pass through the driver"
    project.arrive("2", _ROWS[25:])
    with monkeypatch.context() as patch:
        patch.setattr(quick_append, "MOST_BYTES", 100)
        second = project.run()
    assert second.errors == ()
    assert _engine(project, "orders__quarantine") == "Apache-Spark", "not those that are long"
    _assert_accounted(project, second, "orders", 35)

    kept = [row for row in _ROWS if not _broken(row)]
    aside = [row for row in _ROWS if set(_broken(row)) - {"even"}]
    assert project.rows("orders", *_DATA) == [tuple(row[name] for name in _DATA) for row in kept]
    found = {row["id"]: row for row in _aside(project, "orders")}
    assert len(found) == len(_aside(project, "orders")) == len(aside)
    for row in aside:
        stored = found[row["id"]]
        assert [stored[name] for name in _DATA] == [row[name] for name in _DATA]
        assert stored["_quarantine_rules"] == _broken(row), row
        assert (stored["_quarantine_flow"], stored["_quarantine_batch_id"]) == ("orders", int(row["id"] >= 25))
        assert stored["_quarantine_source"]["file_path"].endswith(f"/in/{1 if row['id'] < 25 else 2}.json")
        assert stored["_quarantine_source"]["topic"] is None
        assert stored["_quarantine_time"] is not None
        assert stored["_quarantine_replay"] is None
    assert len({row["_quarantine_id"] for row in found.values()}) == len(aside)

    quality = project.quality(second)
    late = _ROWS[25:]
    positive = sum(_amount(row) > 0 for row in late)
    assert quality["orders", "positive"] == (positive, len(late) - positive, "quarantine")
    assert quality["orders", "even"] == (17, 18, "drop")
    assert quality["orders", "possible"] == (35, 0, "fail")
    assert quality["orders", "named"] == (18, 17, "warn")

    early = [row for row in _ROWS if row["id"] < 30]
    wanted = [row["id"] for row in early if _amount(row) > 0] + [103]
    assert project.rows("shared", "id") == wanted
    by_flow = Counter(row["_quarantine_flow"] for row in _aside(project, "shared"))
    assert by_flow == {"from_stream": sum(_amount(row) <= 0 for row in early), "from_batch": 3}

    names = Counter(row["name"] for row in kept)
    assert dict(project.rows("by_name", "name", "rows")) == {name: n for name, n in names.items() if n < 8}
    assert {row["name"]: row["rows"] for row in _aside(project, "by_name")} == {
        name: n for name, n in names.items() if n >= 8
    }
    assert {row["_quarantine_batch_id"] for row in _aside(project, "by_name")} == {None}
    assert dict(project.rows("counted", "name", "rows")) == {name: n for name, n in names.items() if n < 8}
    assert {row["name"]: row["rows"] for row in _aside(project, "counted")} == {
        name: n for name, n in names.items() if n >= 8
    }

    good_names = [row for row in _ROWS if row["name"] and row["id"] % 2 == 0]
    assert project.rows("names", "id") == project.rows("name_ids", "id") == [row["id"] for row in good_names]
    assert sorted(row["id"] for row in _aside(project, "named")) == [row["id"] for row in _ROWS if not row["name"]]
    assert quality["named", "named"] == (2 * 30, 2 * 30, "quarantine"), "counted by each of two readers"
    _assert_accounted(project, second, "names", 60)

    project.write(ORDERS.replace("amount > 0", "amount > -100"))
    third = project.run(full_refresh=("orders",))
    assert third.errors == ()
    again = [row for row in _ROWS if row["amount"] is None or row["amount"] >= 35]
    assert sorted(row["id"] for row in _aside(project, "orders")) == [row["id"] for row in again]
    assert {row["_quarantine_batch_id"] for row in _aside(project, "orders")} == {0}


# What Spark has committed, the driver finds committed, and the other way round.
# Slow: dead before both writes, the batch runs again as one that failed for any reason.
@pytest.mark.parametrize(
    ("committed", "most_rows"), [pytest.param(0, 10_000, marks=pytest.mark.slow), (1, 10_000), (2, -1)]
)
def test_a_crash_between_the_two_writes_loses_and_doubles_nothing(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, committed: int, most_rows: int
) -> None:
    project.write(
        """
        @dlt.table
        @dlt.expect_or_quarantine("positive", "amount > 0")
        @dlt.expect_unique("id", action="quarantine")
        def orders():
            return spark.readStream.schema("id LONG, amount LONG, name STRING").json("in")
        """
    )
    project.arrive("1", [*_ROWS, {"id": 22, "amount": 5}, {"id": 22, "amount": 6}, {"id": 7, "amount": 7}])
    commits = 0

    def crashing(write: Callable[..., Any]) -> Callable[..., Any]:
        def writes(*arguments: Any, **options: Any) -> Any:
            nonlocal commits
            if commits < committed:
                done = write(*arguments, **options)
                if done is False:
                    return done
                commits += 1
            if commits in {committed, 2}:
                raise SystemError("the process dies here")
            return done

        return writes

    project.retries = type(project.retries)(max_flow_retries=0, first_delay=0.01, longest_delay=0.01)
    with monkeypatch.context() as patched:
        patched.setattr(quick_append, "MOST_ROWS", most_rows)
        patched.setattr(checking_writer, "append_to_table", crashing(append_to_table))
        patched.setattr(checking_writer, "append_few", crashing(append_few))
        failed = project.run()
    assert failed.state is UpdateState.FAILED
    assert commits == committed
    project.arrive("2", [{"id": 100, "amount": 1}, {"id": 101, "amount": -1}, {"id": 24, "amount": 1}])
    assert project.run().errors == ()
    good = {row["id"] for row in _ROWS if _amount(row) > 0}
    assert project.rows("orders", "id") == sorted(good | {7, 100})
    assert sorted(row["id"] for row in _aside(project, "orders")) == sorted([*{*range(60)} - good, 22, 22, 24, 101])
    assert DeltaTable(project.path("orders__quarantine")).version() == 2
