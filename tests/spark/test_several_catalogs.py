"""One pipeline publishes to several catalogs: tables of the same schema and name stay apart in everything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject
from tests.unit.dashboard.conftest import client_of
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import StateError
from penstock.events import UpdateState
from penstock.runtime.commands.query import run_sql
from penstock.runtime.project.workspace import Workspace, say_nothing

PYTHON = """
    @dlt.table(name="bronze.sales.orders")
    def bronze():
        return spark.readStream.schema("id INT, amount INT").json("in")

    @ps.table(name="silver.sales.orders")
    @ps.expect_or_quarantine("positive", "amount > 0")
    @ps.expect("small", "amount < 100")
    def silver():
        return spark.readStream.table("`Bronze`.sales.orders")

    dlt.create_streaming_table("gold.sales.orders")
    dlt.create_auto_cdc_flow("gold.sales.orders", "silver.sales.orders", keys=["id"], sequence_by="amount")

    dlt.create_streaming_table("silver.sales.history")

    @dlt.append_flow(target="SILVER.sales.history", name="live")
    def live():
        return spark.readStream.table("sales.orders").union(spark.readStream.table("silver.sales.orders"))

    @dlt.append_flow(target="silver.sales.history", name="backfill", once=True)
    def backfill():
        return spark.createDataFrame([(0, 0)], "id INT, amount INT")

    @dlt.view(name="silver.sales.doubled")
    def doubled():
        return spark.read.table("gold.sales.orders").selectExpr("id", "amount * 2 AS amount")
"""
SQL = """
    CREATE VIEW own AS SELECT id, amount FROM bronze.sales.orders;
    USE CATALOG silver;
    USE SCHEMA sales;
    CREATE MATERIALIZED VIEW counts AS
      SELECT (SELECT count(*) FROM own) AS own, (SELECT count(*) FROM orders) AS silver,
             (SELECT count(*) FROM bronze.sales.orders) AS bronze, (SELECT sum(amount) FROM doubled) AS doubled;
    CREATE MATERIALIZED VIEW gold.sales.joined AS
      SELECT silver.sales.orders.amount AS silver, bronze.sales.orders.amount AS bronze
      FROM silver.sales.orders JOIN bronze.sales.orders ON silver.sales.orders.id = bronze.sales.orders.id
"""
NAMES = {
    "sales.orders",
    "silver.sales.orders",
    "gold.sales.orders",
    "silver.sales.history",
    "silver.sales.counts",
    "gold.sales.joined",
}


def cells(project: PipelineProject, schema: str, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Returns the rows of the table in this folder, sorted."""
    place = project.directory / ".penstock/tables" / schema / table
    return sorted(tuple(row[column] for column in columns) for row in read_table(place))


def folders(project: PipelineProject, kind: str) -> set[str]:
    """Returns the folders of datasets in a part of the storage."""
    root = project.directory / ".penstock" / kind
    return {str(each.relative_to(root)) for each in root.glob("*/*") if each.is_dir()}


def test_tables_of_the_same_name_stay_apart(project: PipelineProject) -> None:
    project.settings["catalog"] = "bronze"
    project.write(PYTHON)
    (project.directory / "more.sql").write_text(SQL)
    project.arrive("a", [{"id": 1, "amount": 10}, {"id": 2, "amount": -1}, {"id": 3, "amount": 300}])
    first = project.run()
    assert (first.state, first.errors) == (UpdateState.COMPLETED, ())

    assert cells(project, "sales", "orders", "id") == [(1,), (2,), (3,)]
    assert cells(project, "silver.sales", "orders", "id") == [(1,), (3,)]
    assert cells(project, "silver.sales", "orders__quarantine", "id") == [(2,)]
    assert cells(project, "gold.sales", "orders", "id", "amount") == [(1, 10), (3, 300)]
    assert cells(project, "silver.sales", "history", "id") == [(0,), (1,), (1,), (2,), (3,), (3,)]
    assert cells(project, "silver.sales", "counts", "own", "silver", "bronze", "doubled") == [(3, 2, 3, 620)]
    assert cells(project, "gold.sales", "joined", "silver", "bronze") == [(10, 10), (300, 300)]
    streams = {"sales/orders", "silver.sales/orders", "gold.sales/orders", "silver.sales/history"}
    assert folders(project, "checkpoints") == streams
    assert {"gold.sales/orders"} <= folders(project, "changes")

    progress = [each for each in project.events() if each.event_type.value == "flow_progress"]
    assert {str(each.origin.dataset_name).casefold() for each in progress} == NAMES
    quality = project.quality(first)
    assert quality["silver.sales.orders", "small"][:2] == (2, 1)
    assert quality["silver.sales.orders", "positive"][:2] == (2, 1)

    project.arrive("b", [{"id": 1, "amount": 20}, {"id": 4, "amount": 5}])
    second = project.run()
    assert second.errors == ()
    assert cells(project, "sales", "orders", "id") == [(1,), (1,), (2,), (3,), (4,)]
    assert cells(project, "gold.sales", "orders", "id", "amount") == [(1, 20), (3, 300), (4, 5)]
    assert len(cells(project, "silver.sales", "history", "id")) == 10

    again = project.run(full_refresh=("silver.Sales.Orders", "gold.sales.orders", "silver.sales.history"))
    assert again.errors == ()
    assert set(project.written(again)) >= {"silver.sales.orders"}
    assert "sales.orders" not in project.written(again)
    assert cells(project, "silver.sales", "orders", "id") == [(1,), (1,), (3,), (4,)]
    assert cells(project, "sales", "orders", "id") == [(1,), (1,), (2,), (3,), (4,)]
    generations = project.directory / ".penstock/checkpoints"
    assert {each.name for each in (generations / "silver.sales/orders/orders").iterdir() if each.is_dir()} >= {"1"}
    assert not (generations / "sales/orders/orders/1").exists()

    def ask(statement: str) -> list[tuple[object, ...]]:
        return run_sql(project.config, statement, spark=project.spark)[1]

    both = "SELECT count(DISTINCT s.id), count(DISTINCT b.id) FROM {} s, {} b"
    for own in ("sales.orders", "bronze.sales.orders", "`BRONZE`.`sales`.orders"):
        assert ask(both.format("silver.sales.orders", own)) == [(3, 4)]
    _observed_by_commands(project)
    _changed_catalog(project)
    _dropped(project)


def _observed_by_commands(project: PipelineProject) -> None:
    directory = str(project.directory)
    runner = CliRunner()

    def told(*arguments: str) -> Any:
        done = runner.invoke(app, [*arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def shown(name: str) -> list[int]:
        return sorted(row["id"] for row in told("show", name, directory))

    assert shown("bronze.sales.orders") == shown("sales.orders") == [1, 1, 2, 3, 4]
    assert shown("Silver.sales.orders") == [1, 1, 3, 4]
    assert shown("silver.sales.orders__quarantine") == [2]
    missing = runner.invoke(app, ["show", "copper.sales.orders", directory])
    assert missing.exit_code == 2
    assert "TABLE_NOT_FOUND" in missing.output
    assert "sales.orders" in missing.output
    status = told("status", directory)
    assert {each["name"] for each in status["datasets"]} == {*NAMES, "shop.own", "silver.sales.doubled"}
    verified = told("checkpoint", "verify", directory)
    assert verified["findings"] == []
    lines = runner.invoke(app, ["events", directory, "--dataset", "SILVER.sales.orders", "--json"]).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert {each["origin"]["dataset_name"].casefold() for each in events} == {"silver.sales.orders"}
    both = "SELECT id, g.amount FROM gold.sales.orders g LEFT JOIN silver.sales.orders USING (id) ORDER BY 1"
    answer = told("sql", both, directory, "--engine", "duckdb")  # without the deleted rows of a target of changes
    assert [tuple(row.values()) for row in answer] == [(1, 20), (1, 20), (3, 300), (4, 5)]
    copies = str(project.directory / "copies")
    streams = {"sales.orders", "silver.sales.orders", "gold.sales.orders", "silver.sales.history"}
    assert {
        each["dataset"].casefold() for each in told("checkpoint", "backup", copies, directory)["checkpoints"]
    } == streams
    restored = told("checkpoint", "restore", copies, directory, "--yes")["restored"]
    assert {each["dataset"].casefold() for each in restored} == streams
    assert told("checkpoint", "verify", directory)["findings"] == []
    pages = client_of(str(project.directory / ".penstock"))
    for name in NAMES:
        page = pages.get(f"/datasets/{name}")
        assert (page.status_code, f"<title>{name} " in page.text) == (200, True)
    assert pages.get("/datasets/copper.sales.orders").status_code == 404


def _dropped(project: PipelineProject) -> None:
    """A table goes with its checkpoints, and those of the same schema and name in other catalogs stay."""
    project.settings["catalog"] = "bronze"
    project.write("""
        @dlt.table(name="bronze.sales.orders")
        def bronze():
            return spark.readStream.schema("id INT, amount INT").json("in")
    """)
    (project.directory / "more.sql").unlink()
    done = CliRunner().invoke(app, ["drop", "gold.sales.orders", str(project.directory), "--yes"])
    assert done.exit_code == 0, done.output
    left = {name for kind in ("tables", "checkpoints", "changes") for name in folders(project, kind)}
    assert "gold.sales/orders" not in left
    assert {"sales/orders", "silver.sales/orders", "gold.sales/joined"} <= left


def _changed_catalog(project: PipelineProject) -> None:
    """Another own catalog would give each table the other one's folder."""
    graph = Workspace.open(project.config, say_nothing, spark=project.spark).resolve(say_nothing)
    assert {str(each) for each in graph.targets} == NAMES
    project.settings["catalog"] = "silver"
    with pytest.raises(StateError) as raised:
        project.run()
    assert (raised.value.condition, raised.value.dataset) == ("CATALOG_CHANGED", "bronze.sales.orders")


def test_a_catalog_of_the_session_takes_no_dataset(project: PipelineProject) -> None:
    project.settings["catalog"] = "main"
    project.write("""
        @dlt.table(name="spark_catalog.sales.orders")
        def orders():
            return spark.range(1)
    """)
    [error] = project.validate().errors
    assert (error.condition, error.dataset) == ("DATASET_IN_SESSION_CATALOG", "spark_catalog.sales.orders")
    assert error.location is not None
