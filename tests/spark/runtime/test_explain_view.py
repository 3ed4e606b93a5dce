"""EXPLAIN CREATE MATERIALIZED VIEW in `penstock sql`: the answers of `penstock plan`, and nothing is created."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PenstockError, StateError
from penstock.graph.elements import MaterializedView
from penstock.graph.identifier import Identifier
from penstock.graph.rules.refreshing import full_only
from penstock.runtime.commands.query import run_sql
from penstock.runtime.project.workspace import Workspace, say_nothing

SHOP = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING, amount DECIMAL(10,2)").json("in")

@dlt.table(
    schema="id LONG, kind STRING MASK main.security.hidden",
    row_filter="ROW FILTER main.security.keeps ON (kind)",
)
def secret():
    return spark.readStream.schema("id LONG, kind STRING").json("in")

spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION hidden(kind STRING) RETURNS STRING RETURN '#'")
spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION keeps(kind STRING) RETURNS BOOLEAN RETURN kind = 'a'")
"""
VIEWS = {
    "large": "AS SELECT id, amount * 2 AS twice FROM orders WHERE amount > 5",
    "sums": "AS SELECT kind, sum(amount) AS amount, count(*) AS orders FROM orders GROUP BY kind",
    "means": "AS SELECT kind, avg(amount) AS mean FROM shop.orders GROUP BY kind HAVING count(*) > 1",
    "joined": "AS SELECT o.id, s.kind FROM orders o LEFT JOIN secret s USING (id)",
    "first_rows": "AS SELECT id FROM orders ORDER BY id LIMIT 1",
    "today": "AS SELECT *, current_date() AS day FROM orders",
    "whole": "REFRESH POLICY FULL AS SELECT * FROM orders",
    "checked": "(id LONG NOT NULL, amount DECIMAL(10,2)) AS SELECT id, amount FROM orders",
    "kept": "(CONSTRAINT positive EXPECT (amount > 0) ON VIOLATION QUARANTINE) AS SELECT * FROM orders",
    "judged": "(CONSTRAINT positive EXPECT (amount > 0) ON VIOLATION DROP ROW) AS SELECT * FROM orders",
    "of_files": "AS SELECT * FROM json.`in`",
}


@pytest.fixture
def shop(project: PipelineProject) -> PipelineProject:
    project.arrive("1", [{"id": number, "kind": "ab"[number % 2], "amount": number} for number in range(9)])
    project.write(SHOP)
    assert project.run().errors == ()
    return project


def explained(project: PipelineProject, statement: str) -> list[str]:
    columns, [(text,)] = run_sql(project.config, statement, spark=project.spark)
    assert columns == ["plan"]
    return str(text).splitlines()


def test_the_answers_are_those_of_a_plan(shop: PipelineProject, spark: SparkSession) -> None:
    answers = {}
    for name, definition in VIEWS.items():
        lines = explained(shop, f"EXPLAIN CREATE OR REPLACE MATERIALIZED VIEW {name} {definition}")
        start = lines.index("== Incremental Update Eligibility ==")
        assert lines[0] == "== Physical Plan =="
        answers[name] = (lines[start + 1], lines[start + 4])
    assert sorted(path.name for path in Path(shop.config.storage, "tables", "shop").iterdir()) == ["orders", "secret"]

    statements = [f"CREATE OR REFRESH MATERIALIZED VIEW {name} {definition};" for name, definition in VIEWS.items()]
    (shop.directory / "views.sql").write_text("\n".join(statements))
    graph = Workspace.open(shop.config, say_nothing, spark=spark).resolve(say_nothing)
    for name, answer in answers.items():
        view = graph.tables[Identifier("shop", name)]
        [flow] = graph.flows_to(view.identifier)
        assert isinstance(view, MaterializedView)
        assert flow.definition is not None
        why = full_only(view, flow, constrained=graph.stored_schemas[view.identifier].constrained)
        able = f"The Materialized View {'can' if why is None else 'cannot'} be incrementally refreshed."
        how = f"No issues detected. Refreshed by: {' or '.join(flow.definition.methods)}"
        assert answer == (able, how if why is None else f"Computed in full: {why}")
    assert {name for name, (able, _) in answers.items() if "cannot" not in able} == {
        "large", "sums", "means", "joined", "judged",
    }  # fmt: skip


def test_a_policy_that_the_query_does_not_allow_is_said(shop: PipelineProject) -> None:
    lines = explained(
        shop, "explain create materialized view v refresh policy incremental strict as select id from orders limit 1"
    )
    assert lines[-1] == "With REFRESH POLICY INCREMENTAL STRICT it raises MATERIALIZED_VIEW_NOT_INCREMENTAL"
    assert "Computed in full: its query has LIMIT" in lines


def test_the_plan_is_that_of_a_reader(shop: PipelineProject) -> None:
    plan = "\n".join(explained(shop, "EXPLAIN FORMATTED CREATE MATERIALIZED VIEW v AS SELECT kind FROM secret"))
    assert "No issues detected" in plan, "the pipeline reads the base table"
    shown = plan.partition("== Incremental")[0]
    assert "= a)" in shown, "the row filter"


def test_an_estimate_decides_with_the_policy_auto_only(shop: PipelineProject) -> None:
    said = [
        any("where that is estimated to be quicker" in line for line in explained(shop, f"EXPLAIN {statement}"))
        for statement in (
            "CREATE MATERIALIZED VIEW v AS SELECT id FROM orders",
            "CREATE MATERIALIZED VIEW v REFRESH POLICY INCREMENTAL AS SELECT id FROM orders",
        )
    ]
    assert said == [True, False]


def test_other_statements_are_sparks(shop: PipelineProject) -> None:
    statements = (
        "EXPLAIN SELECT 'CREATE MATERIALIZED VIEW' FROM orders",
        "explain extended with o as (from orders) from o",
    )
    for statement in statements:
        plan = "\n".join(explained(shop, statement))
        assert "Eligibility" not in plan
        assert "== Physical Plan ==" in plan
        assert "Error" not in plan
    assert run_sql(shop.config, "EXPLAIN SHOW TABLES", spark=shop.spark)[0] == ["plan"]


@pytest.mark.parametrize(
    ("definition", "condition"),
    [
        ("AS SELECT * FROM ordres", "TABLE_OR_VIEW_NOT_FOUND"),
        ("AS SELECT no_column FROM orders", "QUERY_ANALYSIS_FAILED"),
        ("AS SELECT * FROM STREAM(orders)", "INVALID_FLOW_QUERY_TYPE"),
        ("AS SELECT * FROM orders WHERE (", "QUERY_ANALYSIS_FAILED"),
        ("SELECT 1", "PARSE_SYNTAX_ERROR"),
        ("AS DROP VIEW kept_view", "ACTION_IN_DATASET_FUNCTION"),
        ("AS INSERT INTO orders VALUES (1, 'a', 1)", "ACTION_IN_DATASET_FUNCTION"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_run(shop: PipelineProject, definition: str, condition: str) -> None:
    shop.spark.range(1).createOrReplaceTempView("kept_view")
    with pytest.raises(PenstockError) as refused:
        explained(shop, f"EXPLAIN CREATE MATERIALIZED VIEW v {definition}")
    assert shop.spark.catalog.tableExists("kept_view")
    assert len(shop.rows("orders", "id")) == 9
    assert refused.value.condition == condition


@pytest.mark.parametrize("command", ["WITH n AS (SELECT 1) INSERT INTO orders", "FROM orders INSERT INTO orders"])
def test_explain_runs_nothing(shop: PipelineProject, command: str) -> None:
    with pytest.raises(PenstockError) as refused:
        explained(shop, f"EXPLAIN {command} SELECT 1 AS id, 'a' AS kind, 1 AS amount")
    assert refused.value.condition == "ACTION_IN_DATASET_FUNCTION"
    assert len(shop.rows("orders", "id")) == 9


@pytest.mark.parametrize("query", ["SELECT kind FROM orders", "SELECT 1 WHERE EXISTS (SELECT * FROM shop.Orders)"])
def test_a_reader_without_the_grant_is_refused(shop: PipelineProject, query: str) -> None:
    asked = set[Identifier]()

    def refuse(table: Identifier) -> None:
        asked.add(table)
        raise StateError("INSUFFICIENT_PERMISSIONS", user="eve", name=table, principal="eve")

    with pytest.raises(StateError) as refused:
        run_sql(shop.config, f"EXPLAIN CREATE MATERIALIZED VIEW v AS {query}", spark=shop.spark, found=refuse)
    assert refused.value.condition == "INSUFFICIENT_PERMISSIONS"
    assert asked == {Identifier("shop", "orders")}
