"""SQL files beside Python files: one pipeline of both, run to its end, and what Spark finds wrong in them."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

import pytest
from tests.oracle.tables import assert_table
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PenstockError

BRONZE = """
    -- Databricks notebook source
    -- MAGIC %md
    -- MAGIC It's the notebook; of orders
    -- COMMAND ----------
    CREATE OR REFRESH STREAMING TABLE orders (
      CONSTRAINT `has an id` EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW,
      CONSTRAINT "is paid" EXPECT (amount >= ${limits.lowest}) -- counted; only
    )
    COMMENT "orders; as they came"
    TBLPROPERTIES (pipelines.reset.allowed = true, 'team' = 'shop')
    AS SELECT * FROM STREAM(arriving)
    -- COMMAND ----------
    CREATE TEMPORARY VIEW named AS
    SELECT o.id, o.customer, c.name, o.amount FROM orders o JOIN LIVE.customers c ON o.customer = c.id
    -- COMMAND ----------
    CREATE OR REPLACE MATERIALIZED VIEW shop.totals (
      name STRING NOT NULL COMMENT 'of the customer',
      total DECIMAL(20, 2),
      orders BIGINT,
    )
    CLUSTER BY (name)
    AS WITH paid AS (SELECT * FROM named WHERE amount > 0) -- ours
    SELECT name, CAST(sum(amount) AS DECIMAL(20, 2)) AS total, count(*) AS orders FROM paid GROUP BY name;
"""
ARCHIVE = """
    SET archive.from = 100;
    USE SCHEMA archive;
    CREATE STREAMING TABLE big;
    CREATE FLOW recent AS
    INSERT INTO big BY NAME SELECT amount, id FROM STREAM shop.orders WHERE amount >= ${archive.from};
    CREATE FLOW old AS INSERT INTO ONCE big BY NAME SELECT id, amount FROM shop.before;
    CREATE MATERIALIZED VIEW big_ids AS SELECT id FROM big
"""
PYTHON = """
    @dp.temporary_view
    def arriving():
        return spark.readStream.schema("id BIGINT, customer BIGINT, amount DOUBLE").json("in")

    @dp.materialized_view
    def customers():
        return spark.createDataFrame([(1, "Ada"), (2, "Ben")], "id BIGINT, name STRING")

    @dp.materialized_view
    def before():
        return spark.createDataFrame([(-1, 500.0), (-2, 1.0)], "id BIGINT, amount DOUBLE")

    @dp.materialized_view
    def best():
        return spark.read.table("totals").orderBy(F.desc("total")).limit(1)
"""
ORDERS: list[dict[str, Any]] = [
    *({"id": each, "customer": 1 + each % 2, "amount": each * 7 % 200 - 20.0} for each in range(40)),
    {"id": None, "customer": 1, "amount": 7.0},
]


def _write(project: PipelineProject, file: str, text: str) -> None:
    (project.directory / file).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


@pytest.mark.slow
def test_a_pipeline_of_sql_and_python(project: PipelineProject) -> None:
    project.settings["configuration"] = "{limits.lowest: '0'}"
    project.write(PYTHON)
    _write(project, "bronze.sql", BRONZE)
    _write(project, "silver.sql", ARCHIVE)
    project.arrive("a", ORDERS)
    update = project.run()

    kept = [order for order in ORDERS if order["id"] is not None]
    unpaid = sum(1 for order in ORDERS if order["amount"] < 0)
    assert project.quality(update) == {
        ("orders", "has an id"): (len(kept), 1, "drop"),
        ("orders", "is paid"): (len(ORDERS) - unpaid, unpaid, "warn"),
    }
    assert_table(project.path("orders"), kept)
    totals: Counter[str] = Counter()
    orders: Counter[str] = Counter()
    for order in kept:
        if order["amount"] > 0:
            totals["Ada" if order["customer"] == 1 else "Ben"] += order["amount"]
            orders["Ada" if order["customer"] == 1 else "Ben"] += 1
    assert sorted(project.rows("totals", "name", "total", "orders")) == [
        (name, totals[name], orders[name]) for name in sorted(totals)
    ]
    assert project.rows("best", "name") == [max(totals, key=lambda name: totals[name])]
    big = sorted([(-2, 1.0), (-1, 500.0), *((each["id"], each["amount"]) for each in kept if each["amount"] >= 100)])
    storage = project.directory / ".penstock" / "tables" / "archive"
    assert_table(storage / "big", [{"id": number, "amount": amount} for number, amount in big])
    assert_table(storage / "big_ids", [{"id": number} for number, _ in big])

    project.arrive("b", [{"id": 100, "customer": 2, "amount": 1000.0}])
    project.run()
    assert_table(storage / "big", [{"id": number, "amount": amount} for number, amount in [*big, (100, 1000.0)]])
    assert project.rows("best", "name") == ["Ben"]


def test_what_spark_finds_wrong_is_shown_at_its_place(project: PipelineProject) -> None:
    _write(
        project,
        "bad.sql",
        """\
        CREATE MATERIALIZED VIEW good AS SELECT 1 AS id;
        CREATE MATERIALIZED VIEW no_parse AS
          SELECT id,
            FROM good WHRE id = 1 x;
        CREATE MATERIALIZED VIEW no_column AS SELECT g.id, idd FROM good AS g;
        CREATE MATERIALIZED VIEW no_table AS
        SELECT * FROM good
          JOIN gud USING (id);
        CREATE MATERIALIZED VIEW no_function AS /* later */ SELECT id, ${name}(id) FROM good;
        CREATE MATERIALIZED VIEW no_type (id BIGINTT) AS SELECT id FROM good;
        CREATE MATERIALIZED VIEW no_rule (
          CONSTRAINT ok EXPECT (id > 0),
          CONSTRAINT amount EXPECT (amout > 0)
        ) AS SELECT id FROM good;
        SET spark.sql.ansi.enabled = false;
        CREATE MATERIALIZED VIEW lenient AS SELECT CAST(id > 0 AS TIMESTAMP) AS x FROM good;
        SET spark.sql.warehouse.dir = elsewhere;
        CREATE MATERIALIZED VIEW fixed AS SELECT 1 AS x;
        """,
    )
    project.settings["configuration"] = "{name: unheard_of}"
    report = project.validate()
    assert [_said(error) for error in report.errors] == [
        ("QUERY_ANALYSIS_FAILED", "shop.no_parse", "bad.sql:4:15"),
        ("QUERY_ANALYSIS_FAILED", "shop.no_column", "bad.sql:5:52"),
        ("TABLE_OR_VIEW_NOT_FOUND", "shop.no_table", "bad.sql:8:8"),
        ("QUERY_ANALYSIS_FAILED", "shop.no_function", "bad.sql:9:64"),
        ("DECLARED_SCHEMA_INVALID", "shop.no_type", "bad.sql:10:1"),
        ("EXPECTATION_NOT_RESOLVED", "shop.no_rule", "bad.sql:13:3"),
        ("QUERY_ANALYSIS_FAILED", "shop.fixed", "bad.sql:18:1"),
    ]


def _said(error: PenstockError) -> tuple[str, str | None, str]:
    return error.condition, error.dataset, str(error.location)
