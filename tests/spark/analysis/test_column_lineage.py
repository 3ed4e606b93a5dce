"""What the columns of a pipeline are made of, by the plans that Spark makes of its queries."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.identifier import Identifier
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn
from penstock.spark import _jvm
from penstock.spark.plans.definition import plan_json

_PIPELINE = '''
    @dlt.table
    def orders():
        rate = spark.readStream.format("rate").load()
        return rate.selectExpr("value id", "timestamp at", "value % 7 amount", "cast(value AS string) note")

    @dlt.table(name="Customers")
    def customers():
        return spark.sql("SELECT id, concat(first, ' ', last) AS name FROM VALUES (1, 'a', 'b') AS t (id, first, last)")

    @dlt.view
    @dlt.expect_or_drop("positive", "amount > 0")
    def positive():
        return dlt.read_stream("orders")

    @dlt.table
    def chosen():
        frame = dlt.read_stream("positive").withColumnRenamed("note", "Note")
        size = F.when(F.col("amount") > 3, F.lit("big")).otherwise(F.col("Note"))
        return frame.withColumn("size", size).selectExpr("id", "Note", "amount * 2 AS twice", "size", "1 AS one")

    @dlt.table
    def joined():
        return dlt.read_stream("orders").join(dlt.read("customers"), "id", "left").select("id", "name")

    @dlt.table
    def hourly():
        timed = dlt.read_stream("orders").withWatermark("at", "1 hour")
        return timed.groupBy(F.window("at", "1 hour"), "note").agg(F.sum("amount").alias("total"))

    @dlt.table
    def ranked():
        return spark.sql("""
            WITH big AS (SELECT id, amount, note FROM orders WHERE amount > 3),
                 all_of AS (SELECT * FROM big UNION ALL SELECT id, amount + 1, note FROM orders)
            SELECT a.id, a.note, row_number() OVER (PARTITION BY a.note ORDER BY a.amount) AS place, b.amount AS other
            FROM all_of a JOIN big b ON a.id = b.id
            ORDER BY a.amount
        """)

    @dlt.table
    def words():
        return dlt.read("orders").select("id", F.explode(F.split("note", " ")).alias("word")).distinct()

    @dlt.table
    def foreign():
        frame = dlt.read("orders").where("amount > 1")
        return frame.mapInPandas(lambda batches: batches, frame.schema).select("id", F.lit(2).alias("two"))

    @dlt.table
    def subquery():
        return spark.sql("SELECT id, (SELECT max(amount) FROM orders) AS most FROM customers")

    @dlt.table
    def files():
        return spark.read.schema("a INT, b INT").json("data").selectExpr("a + b AS c")

    dlt.create_streaming_table("history")
    dlt.create_auto_cdc_flow(
        target="history", source="orders", keys=["id"], sequence_by=F.struct("at"), stored_as_scd_type=2,
        apply_as_deletes="amount = 0", except_column_list=["amount"]
    )
'''


def _shown(inputs: tuple[InputColumn, ...], dataset: str) -> str:
    """Of `shop.orders` the columns, of others with the dataset; `=` as it is, `~` computed, `#` aggregated."""
    signs = {"IDENTITY": "=", "TRANSFORMATION": "~", "AGGREGATION": "#"}
    return " ".join(
        ("" if each.dataset == dataset else f"[{each.dataset}]")
        + each.column
        + "".join(signs.get(kind.value, f"/{kind.value}") for kind in each.how)
        for each in inputs
    )


def _lineage(found: ColumnLineage | None) -> dict[str, str]:
    assert found is not None
    told = {
        column.name: _shown(column.inputs, "shop.orders") + ("" if column.resolved else " ?")
        for column in found.columns
    }
    return {**told, "(rows)": _shown(found.rows, "shop.orders") + ("" if found.rows_resolved else " ?")}


def test_each_column_comes_from_where_its_query_takes_it(project: PipelineProject) -> None:
    (project.directory / "data").mkdir()
    project.write(_PIPELINE)
    report = project.validate()
    assert report.graph is not None, [str(error) for error in report.errors]
    graph = report.graph

    def of(name: str) -> dict[str, str]:
        (flow,) = graph.flows_to(Identifier("shop", name))
        return _lineage(flow.lineage)

    assert of("orders") == {
        "id": "[rate rate]value=",
        "at": "[rate rate]timestamp=",
        "amount": "[rate rate]value~",
        "note": "[rate rate]value~",
        "(rows)": "",
    }
    assert of("customers") == {"id": "", "name": "", "(rows)": ""}
    assert _lineage(graph.views[Identifier("shop", "positive")].lineage) == {
        **{name: f"{name}=" for name in ("id", "at", "amount", "note")},
        "(rows)": "amount/FILTER",
    }
    assert of("chosen") == {
        "id": "id=",
        "Note": "note=",
        "twice": "amount~",
        "size": "amount/CONDITIONAL note~",
        "one": "",
        "(rows)": "amount/FILTER",
    }
    assert of("joined") == {
        "id": "id=",
        "name": "[shop.Customers]name=",
        "(rows)": "[shop.Customers]id/JOIN id/JOIN",
    }
    assert of("hourly") == {
        "window": "at~",
        "note": "note=",
        "total": "amount#",
        "(rows)": "at/GROUP_BY/FILTER note/GROUP_BY",
    }
    assert of("ranked") == {
        "id": "id=",
        "note": "note=",
        "place": "amount/WINDOW note/WINDOW",
        "other": "amount=",
        "(rows)": "amount/FILTER/SORT id/JOIN",
    }
    assert of("words") == {"id": "id=", "word": "note~", "(rows)": "id/GROUP_BY note/GROUP_BY"}
    assert of("foreign") == {"id": " ?", "two": "", "(rows)": "amount/FILTER ?"}
    assert of("subquery") == {"id": "[shop.Customers]id=", "most": " ?", "(rows)": ""}
    assert of("files") == {"c": "[files data]a~ [files data]b~", "(rows)": ""}
    assert of("history") == {
        "id": "id=",
        "at": "at=",
        "note": "note=",
        "__START_AT": "at~",
        "__END_AT": "at~",
        "(rows)": "amount/FILTER at/SORT id/GROUP_BY",
    }


def test_a_plan_that_takes_long_to_read_is_not_followed(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.lineage.query.MOST_EXPRESSIONS", 10)
    project.write(
        """
        @dlt.table
        def short():
            return spark.range(1).selectExpr(*(f"id AS c{i}" for i in range(9)))

        @dlt.table
        def long():
            return spark.range(1).selectExpr(*(f"id AS c{i}" for i in range(9))).where("c1 > 1")
        """
    )
    graph = project.validate().graph
    assert graph is not None
    resolved = {flow.declaration.name: flow.lineage.rows_resolved for flow in graph.flows if flow.lineage is not None}
    assert resolved == {"short": True, "long": False}


def test_a_plan_is_the_same_without_our_classes(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _jvm.analyzed_plan(spark.range(3).selectExpr("id AS `ä`"))
    written = plan_json(spark, plan)
    assert written == plan.toJSON()
    assert plan_json(spark, plan, most=1) is None
    without = SimpleNamespace(penstock=SimpleNamespace(plans=_jvm.jvm(spark).no_such_package))
    monkeypatch.setattr(_jvm, "jvm", lambda _: without)
    assert plan_json(spark, plan) == written
