"""`penstock compare`: the rows of a table of the pipeline against those of another table, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.commands.tables import compare as command
from penstock.cli.main import app
from penstock.events.flows.facts import details_of
from penstock.events.log.reads import recorded_reads
from penstock.runtime.commands import compare

SCHEMA = "id LONG, item STRUCT<name: STRING, price: DECIMAL(9, 2)>, weight DOUBLE, tags MAP<STRING, LONG>, day DATE"
CODE = f"""
spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION small(id BIGINT) RETURNS BOOLEAN RETURN id < 3")

@dp.table
def orders():
    return spark.readStream.schema("{SCHEMA}").json("in")

@dlt.table(row_filter="ROW FILTER small ON (id)")
def closed():
    return spark.readStream.schema("id LONG").json("in")
"""
NUMBERS = range(1, 7)

Told = tuple[int, dict[str, Any]]
Ask = Callable[..., Told]


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PipelineProject:
    project = PipelineProject(tmp_path_factory.mktemp("compared"), spark)
    project.write(CODE)
    project.arrive(
        "1",
        [
            {
                "id": i,
                "item": {"name": f"n{i}", "price": i},
                "weight": i / 4,
                "tags": {"a": i, "b": 0},
                "day": "2026-01-01",
            }
            for i in NUMBERS
        ]
        + [{"id": None, "weight": "NaN"}],
    )
    assert project.run().errors == ()
    return project


@pytest.fixture
def ask(finished: PipelineProject, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Types the command, whose session is that of the tests; returns the exit code and the JSON."""
    monkeypatch.setattr(command, "enter", lambda config: None)
    monkeypatch.setattr(compare, "compare_tables", partial(compare.compare_tables, spark=finished.spark))

    def typed(*words: str) -> Told:
        done = CliRunner().invoke(app, ["compare", *words, str(finished.directory), "--json"])
        return done.exit_code, json.loads(done.stdout)

    return typed


@pytest.fixture
def copy(finished: PipelineProject, tmp_path: Path) -> str:
    """The same rows, in a table of somebody else whose columns have another order."""
    rows = finished.spark.read.format("delta").load(str(finished.path("orders")))
    rows.selectExpr("day", "tags", "WEIGHT", "item", "id").write.format("delta").save(str(tmp_path / "copy"))
    return str(tmp_path / "copy")


def test_equal_tables(ask: Ask, copy: str) -> None:
    code, told = ask("orders", copy)
    assert (code, told["same"], told["rows"]) == (0, True, {"equal": 7, "only_in_table": 0, "only_in_other": 0})
    assert (told["table"], told["columns_only_in_table"], told["columns_only_in_other"]) == ("shop.orders", [], [])
    assert ask("shop.orders", "ORDERS")[0] == 0, "with itself"


@pytest.mark.parametrize(
    ("change", "counts", "only_in"),
    [
        ("DELETE FROM {} WHERE id = 2", (6, 1, 0), "table"),
        ("INSERT INTO {} SELECT * FROM {} WHERE id IS NULL", (7, 0, 1), "other"),
        ("UPDATE {} SET weight = 9 WHERE id IS NULL", (6, 1, 1), "other"),
        ("UPDATE {} SET item.price = 2.01 WHERE id = 2", (6, 1, 1), "table"),
        ("UPDATE {} SET tags = map('b', 0L, 'a', 3L) WHERE id = 2", (6, 1, 1), "table"),
    ],
    ids=["lost", "doubled", "no longer NaN", "a decimal in a struct", "a map"],
)
def test_what_is_lost_doubled_or_changed(
    ask: Ask, copy: str, spark: SparkSession, change: str, counts: tuple[int, int, int], only_in: str
) -> None:
    spark.sql(change.replace("{}", f"delta.`{copy}`"))
    code, told = ask("orders", copy)
    assert (code, tuple(told["rows"].values())) == (1, counts)
    assert only_in in {row["only_in"] for row in told["difference"]}
    assert {row["times"] for row in told["difference"]} == {1}


def test_a_range_columns_left_out_and_which_columns_differ(ask: Ask, copy: str, spark: SparkSession) -> None:
    spark.sql(f"UPDATE delta.`{copy}` SET weight = 9 WHERE id IN (2, 3)")
    spark.sql(f"UPDATE delta.`{copy}` SET day = DATE'2027-01-01' WHERE id = 3")
    spark.sql(f"ALTER TABLE delta.`{copy}` ADD COLUMNS (loaded_at TIMESTAMP)")
    code, told = ask("orders", copy, "--key", "ID")
    assert (code, told["changed"]) == (1, {"item": 0, "weight": 2, "tags": 0, "day": 1})
    assert (told["columns_only_in_table"], told["columns_only_in_other"]) == ([], ["loaded_at"])
    assert ask("orders", copy, "--where", "id > 3")[0] == 0
    assert ask("orders", copy, "--where", "id <> 3", "--except", "Weight", "--except", "loaded_at")[0] == 0
    assert len(ask("orders", copy, "--limit", "1")[1]["difference"]) == 1


def test_a_row_filter_holds_for_both_sides(ask: Ask, copy: str, finished: PipelineProject) -> None:
    code, told = ask("closed", copy, "--where", "id IS NOT NULL")
    assert (code, told["rows"]) == (0, {"equal": 2, "only_in_table": 0, "only_in_other": 0})
    assert ask("orders", "closed", "--limit", "9")[1]["rows"]["equal"] == 2
    by_path = ask("orders", str(finished.path("closed")))[1]
    assert (by_path["other"], by_path["rows"]["only_in_other"]) == ("shop.closed", 0)
    [newest] = list(recorded_reads(str(finished.directory / ".penstock")))[-1:]
    assert newest.event is not None
    arguments = details_of(newest.event)["arguments"]
    assert (arguments["command"], arguments["tables"]) == ("compare", ["shop.closed", "shop.orders"])


@pytest.mark.parametrize(
    ("words", "condition", "said"),
    [
        (["orders", "/nowhere/orders"], "COMPARE_TABLE_NOT_FOUND", "/nowhere/orders"),
        (["orders", "{storage}/tables/shop/orders/_delta_log"], "COMPARE_TABLE_NOT_FOUND", "_delta_log"),
        (["ordres", "{copy}"], "TABLE_NOT_FOUND", "orders"),
        (["orders", "{copy}", "--key", "idd"], "COMPARE_COLUMN_NOT_FOUND", "'id'"),
        (["orders", "{copy}", "--except", "wieght"], "COMPARE_COLUMN_NOT_FOUND", "'WEIGHT'"),
        (["orders", "{copy}", "--where", "wieght > 1"], "COMPARE_NOT_POSSIBLE", "wieght"),
        (["closed", "{copy}", "--except", "id"], "COMPARE_NOT_POSSIBLE", "in common"),
    ],
)
def test_what_is_refused(
    ask: Ask, copy: str, finished: PipelineProject, words: list[str], condition: str, said: str
) -> None:
    storage = str(finished.directory / ".penstock")
    code, told = ask(*(word.format(copy=copy, storage=storage) for word in words))
    assert (code, [each["condition"] for each in told["errors"]]) == (2, [condition])
    assert said in json.dumps(told)


def test_files_that_are_gone_are_named(ask: Ask, copy: str) -> None:
    for file in DeltaTable(copy).file_uris():
        Path(file).unlink()
    code, told = ask("orders", copy)
    assert (code, told["errors"][0]["condition"]) == (3, "DATA_FILES_MISSING")


def test_a_table_for_people(finished: PipelineProject, ask: Ask, copy: str, spark: SparkSession) -> None:
    spark.sql(f"UPDATE delta.`{copy}` SET item.price = {Decimal('2.01')} WHERE id = 2")
    done = CliRunner().invoke(app, ["compare", "orders", copy, str(finished.directory), "--key", "id"])
    assert done.exit_code == 1
    for said in ("shop.orders: 7 rows, 1 of them only there", "item differs in 1 row of the same key", "2.01"):
        assert said in done.stdout
