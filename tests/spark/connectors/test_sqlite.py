"""The worked example: what docs/how-to/write-a-connector.md promises of it, and the tests of every connector."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.plan.explain import render_plan
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update
from penstock.testing.connectors import RateLimitConformance, SinkConformance

pytestmark = pytest.mark.usefixtures("sqlite_connector", "spark")


def _write(path: Path, ids: Iterable[int]) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, amount REAL, note TEXT)")
        database.executemany("INSERT INTO orders VALUES (?, ?, 'n')", [(each, each * 1.5) for each in ids])


def _read(path: Path, query: str) -> list[tuple[object, ...]]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


class TestSource(RateLimitConformance):
    format = "sqlite"

    @pytest.fixture(autouse=True)
    def database(self, tmp_path: Path) -> None:
        self.path = tmp_path / "shop.db"
        _write(self.path, [])

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path), "table": "orders"}

    def put(self, ids: Iterable[int]) -> None:
        _write(self.path, ids)

    def two_rows(self) -> Mapping[str, str]:
        return {"maxRowsPerTrigger": "2"}


class TestSink(SinkConformance):
    format = "sqlite"

    @pytest.fixture(autouse=True)
    def database(self, tmp_path: Path) -> None:
        self.path = tmp_path / "out.db"

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path), "table": "orders", "keys": "id"}

    def stored(self) -> list[int]:
        return [int(str(row[0])) for row in _read(self.path, "SELECT id FROM orders")]

    def texts(self) -> Mapping[int, str]:
        return {int(str(row[0])): str(row[1]) for row in _read(self.path, "SELECT id, text FROM orders")}


def test_a_sink_that_forgets_its_batches_fails_the_tests(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that finds rows by keys, nothing else shows it."""
    sqlite = importlib.import_module("penstock_sqlite")
    write = sqlite.SqliteBatches.write

    def forgetful(self: Any, rows: DataFrame, batch: Any) -> int | None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("DELETE FROM penstock_batches")
        written: int | None = write(self, rows, batch)
        return written

    monkeypatch.setattr(sqlite.SqliteBatches, "write", forgetful)
    kit = TestSink()
    kit.path = tmp_path / "out.db"
    with pytest.raises(AssertionError, match="a ledger tells which ones were"):
        kit.test_a_batch_that_comes_again_leaves_what_came_later(tmp_path)


_PIPELINE = """
    ps.create_sink("totals_db", "sqlite", {"path": "out.db", "table": "totals", "keys": "note"})

    @ps.table
    def orders():
        return spark.readStream.format("sqlite").option("table", "orders").load("shop.db")

    @ps.append_flow(target="totals_db")
    def out():
        return spark.readStream.table("orders").selectExpr("concat('order ', id) AS note", "amount")
"""


def test_a_pipeline_reads_and_writes_it(project: PipelineProject) -> None:
    _write(project.directory / "shop.db", [0, 1])
    out = project.directory / "out.db"
    project.write(_PIPELINE)
    assert project.run().errors == ()
    _write(project.directory / "shop.db", [3])
    assert project.run().errors == ()
    assert _read(out, "SELECT note, amount FROM totals ORDER BY 1") == [
        ("order 0", 0),
        ("order 1", 1.5),
        ("order 3", 4.5),
    ]
    text = render_plan(plan_update(project.config, RefreshSelection(), spark=project.spark).plan)
    assert "reads sqlite orders" in text
    assert "exactly once" in text
    accounts = [each.details["accounting"] for each in project.events() if "accounting" in each.details]
    assert {each["verdict"] for each in accounts} == {"BALANCED"}
    assert sum(each["written"] for each in accounts) == 6, "three rows in the table, three in the database"


def test_a_function_reads_it_as_a_batch(project: PipelineProject) -> None:
    _write(project.directory / "shop.db", [0, 1])
    project.write("""
        @ps.materialized_view
        def by_path():
            return spark.read.format("sqlite").option("table", "orders").load("shop.db")

        @ps.materialized_view
        def by_arguments():
            return spark.read.load("shop.db", "sqlite", table="orders")

        @ps.materialized_view
        def files():
            return spark.read.format("cloudFiles").option("cloudFiles.format", "json").load("in")
        """)
    (project.directory / "in").mkdir()
    (project.directory / "in/1.json").write_text('{"id": 7}')
    assert project.run().errors == ()
    assert project.rows("by_arguments", "id", "amount") == [(0, 0.0), (1, 1.5)]
    _write(project.directory / "shop.db", [3])
    assert project.run(refresh=("by_path",)).errors == ()
    assert project.rows("by_path", "id", "amount") == [(0, 0.0), (1, 1.5), (3, 4.5)]
    assert project.rows("files", "id") == ["7"]
    project.write("""
        @ps.materialized_view
        def misspelt():
            return spark.read.format("sqlite").option("tabel", "orders").load("shop.db")

        @ps.materialized_view
        def endless():
            return spark.read.format("kinesis").option("streamName", "s").option("region", "eu-central-1").load()
        """)
    found = {str(error.dataset).rpartition(".")[2]: error.condition for error in project.validate().errors}
    assert found == {"misspelt": "SOURCE_OPTION_UNKNOWN", "endless": "BATCH_NOT_POSSIBLE"}


@pytest.mark.parametrize(
    ("old", "new", "condition", "words"),
    [
        ('"table", "orders"', '"tabel", "orders"', "SOURCE_OPTION_UNKNOWN", "'tabel'"),
        # Slow: what the connector itself says comes the same way as the two that stay.
        pytest.param('.option("table", "orders")', "", "SOURCE_OPTION_INVALID", "'table'", marks=pytest.mark.slow),
        ('"table", "orders"', '"table", "no_table"', "CONNECTOR_FAILED", "has no table no_table"),
        ('"keys": "note"', '"key": "note"', "SINK_OPTIONS_INVALID", "'keys' is missing"),
        ('format("sqlite")', 'format("sqlitee")', "SOURCE_FORMAT_UNKNOWN", "'sqlite'"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    spark: SparkSession, project: PipelineProject, old: str, new: str, condition: str, words: str
) -> None:
    _write(project.directory / "shop.db", [1])
    project.write(_PIPELINE.replace(old, new))
    found = {error.condition: error for error in project.validate().errors}
    assert condition in found
    assert words in found[condition].message
    assert found[condition].location is not None
