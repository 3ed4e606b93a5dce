"""Every way of reading resolves before any table exists, and nothing is written meanwhile."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedGraph
from tests.spark.pipeline_project import PipelineProject

SOURCES = """
@dlt.table
def orders():
    return spark.readStream.format("rate").load().selectExpr("value AS id", "timestamp AS at", "value * 2 AS amount")

@dlt.table(name="`odd ``name, with spaces`")
def odd():
    return spark.range(1)

@dlt.table
def customers():
    return spark.range(1).withColumn("name", F.lit("Ann"))
"""

# What is read, whether as a stream, and the columns that come out; `orders` has id, at, amount.
ORDERS = ["id", "at", "amount"]
WAYS: dict[str, tuple[str, list[tuple[str, bool]], list[str]]] = {
    "dlt_read": ('dlt.read("orders")', [("orders", False)], ORDERS),
    "dlt_read_stream": ('dlt.read_stream("LIVE.Orders")', [("orders", True)], ORDERS),
    "ps_read": ('ps.read("shop.orders")', [("orders", False)], ORDERS),
    "ps_read_stream": ('ps.read_stream("orders")', [("orders", True)], ORDERS),
    "read_table": ('spark.read.table("ORDERS")', [("orders", False)], ORDERS),
    "read_stream_table": ('spark.readStream.table("any_catalog.shop.orders")', [("orders", True)], ORDERS),
    "session_table": ('spark.table("`shop`.`orders`")', [("orders", False)], ORDERS),
    "with_option": ('spark.readStream.option("maxFilesPerTrigger", 1).table("orders")', [("orders", True)], ORDERS),
    "odd_name": ('dlt.read("`odd ``name, with spaces`")', [("odd `name, with spaces", False)], ["id"]),
    "columns": ('dlt.read("orders").select(*[c for c in dlt.read("orders").columns if c != "at"])', [("orders", False)] * 2, ["id", "amount"]),
    "schema": ('dlt.read("orders").select([f.name for f in spark.read.table("orders").schema][0])', [("orders", False)] * 2, ["id"]),
    "watermark": ('dlt.read_stream("orders").withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour")).agg(F.sum("amount").alias("sum"))', [("orders", True)], ["window", "sum"]),
    "self_join": ('dlt.read_stream("orders").alias("a").join(dlt.read_stream("orders").alias("b"), F.expr("a.id = b.id")).select("a.id")', [("orders", True)] * 2, ["id"]),
    "sql": ('spark.sql("SELECT * FROM orders")', [("orders", False)], ORDERS),
    "sql_own_name": ('spark.sql("SELECT Orders.id FROM ORDERS")', [("orders", False)], ["id"]),
    "sql_alias": ('spark.sql("SELECT o.id FROM shop.orders AS o")', [("orders", False)], ["id"]),
    "sql_bare_alias": ('spark.sql("SELECT o.id FROM any_catalog.shop.orders o")', [("orders", False)], ["id"]),
    "sql_live": ('spark.sql("SELECT * FROM LIVE.orders")', [("orders", False)], ORDERS),
    "sql_quoted": ('spark.sql("SELECT * FROM `shop`.`orders`")', [("orders", False)], ORDERS),
    "sql_odd_name": ('spark.sql("SELECT * FROM `odd ``name, with spaces`")', [("odd `name, with spaces", False)], ["id"]),
    "sql_from_first": ('spark.sql("FROM orders SELECT id")', [("orders", False)], ["id"]),
    "sql_stream": ('spark.sql("SELECT * FROM STREAM(orders)")', [("orders", True)], ORDERS),
    "sql_stream_alias": ('spark.sql("select o.id from stream( live.Orders ) as o")', [("orders", True)], ["id"]),
    "sql_stream_word": ('spark.sql("SELECT id FROM STREAM orders WHERE id > 1")', [("orders", True)], ["id"]),
    "sql_stream_word_alias": ('spark.sql("SELECT o.id FROM STREAM `shop`.orders o")', [("orders", True)], ["id"]),
    "sql_stream_own_name": ('spark.sql("SELECT orders.id FROM STREAM(orders)")', [("orders", True)], ["id"]),
    "sql_join": ('spark.sql("SELECT o.id, name FROM STREAM(orders) o JOIN customers USING (id)")', [("orders", True), ("customers", False)], ["id", "name"]),
    "sql_comma_join": ('spark.sql("SELECT o.id FROM orders o, customers c WHERE o.id = c.id")', [("orders", False), ("customers", False)], ["id"]),
    "sql_cte": ('spark.sql("WITH big AS (SELECT * FROM orders WHERE amount > 1) SELECT id FROM big")', [("orders", False)], ["id"]),
    "sql_cte_shadows": ('spark.sql("WITH Orders AS (SELECT 1 AS one) SELECT * FROM orders")', [], ["one"]),
    "sql_cte_same_name": ('spark.sql("WITH orders AS (SELECT id FROM orders) SELECT * FROM orders")', [("orders", False)], ["id"]),
    "sql_cte_inside": ('spark.sql("SELECT a.id FROM orders a JOIN (WITH orders AS (SELECT 1L AS id) SELECT * FROM orders) b ON a.id = b.id")', [("orders", False)], ["id"]),
    "sql_cte_qualified": ('spark.sql("WITH orders AS (SELECT 1 AS one) SELECT o.id FROM shop.orders o, orders")', [("orders", False)], ["id"]),
    "sql_in": ('spark.sql("SELECT name FROM customers WHERE id IN (SELECT id FROM orders)")', [("customers", False), ("orders", False)], ["name"]),
    "sql_exists": ('spark.sql("SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = c.id)")', [("customers", False), ("orders", False)], ["name"]),
    "sql_scalar": ('spark.sql("SELECT (SELECT max(id) FROM orders) AS most")', [("orders", False)], ["most"]),
    "sql_union": ('spark.sql("SELECT id FROM orders UNION ALL SELECT id FROM customers")', [("orders", False), ("customers", False)], ["id"]),
    "sql_sample": ('spark.sql("SELECT id FROM orders TABLESAMPLE (10 PERCENT) o")', [("orders", False)], ["id"]),
    "sql_text": ('spark.sql("SELECT \'😀 FROM customers\' AS t, id FROM orders -- FROM customers")', [("orders", False)], ["t", "id"]),
    "sql_parameter": ('spark.sql("SELECT id FROM orders WHERE id = :wanted", args={"wanted": 1})', [("orders", False)], ["id"]),
    "sql_positional": ('spark.sql("SELECT id FROM orders WHERE id = ?", args=[1])', [("orders", False)], ["id"]),
    "sql_frame": ('spark.sql("SELECT a.id FROM {frame} a JOIN orders USING (id)", frame=dlt.read("customers"))', [("customers", False), ("orders", False)], ["id"]),
    "sql_temporary_view": ('(dlt.read("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM mine"))[1]', [("orders", False)], ["id"]),
    "sql_temporary_stream": ('(dlt.read_stream("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM mine"))[1]', [("orders", True)], ["id"]),
    "sql_temporary_stream_word": ('(dlt.read_stream("orders").createOrReplaceTempView("mine"), spark.sql("SELECT id FROM STREAM(mine)"))[1]', [("orders", True)], ["id"]),
    "sql_values": ('spark.sql("SELECT * FROM VALUES (1) AS orders(id)")', [], ["id"]),
    "sql_function": ('spark.sql("SELECT * FROM range(3) orders")', [], ["id"]),
}  # fmt: skip


def _graph(project: PipelineProject) -> ResolvedGraph:
    report = project.validate()
    assert report.graph is not None, [str(error) for error in report.errors]
    return report.graph


def _inputs(graph: ResolvedGraph, name: str) -> tuple[Input, ...]:
    identifier = Identifier("shop", name)
    if identifier in graph.views:
        return graph.views[identifier].inputs
    return tuple(read for flow in graph.flows_to(identifier) for read in flow.inputs)


def test_each_way_of_reading(project: PipelineProject) -> None:
    views = [f"@dlt.view\ndef {name}():\n    return {code}\n" for name, (code, _, _) in WAYS.items()]
    project.write("\n".join(views), "a_views.py")
    project.write(SOURCES, "z_sources.py")
    before = _tree(project.directory)
    graph = _graph(project)
    for name, (_, reads, columns) in WAYS.items():
        view = graph.views[Identifier("shop", name)]
        assert [(str(read.dataset), read.streaming) for read in _deduplicated(view.inputs, reads)] == [
            (f"shop.{dataset}", streaming) for dataset, streaming in dict.fromkeys(reads)
        ], name
        assert list(view.schema.names) == columns, name
        assert view.streaming is any(streaming for _, streaming in reads), name
    assert _tree(project.directory) == before


def _deduplicated(inputs: tuple[Input, ...], reads: list[tuple[str, bool]]) -> list[Input]:
    """One read of each dataset, but all source names of a self-join are looked at elsewhere."""
    found: dict[object, Input] = {}
    for read in inputs:
        found.setdefault((read.dataset, read.streaming), read)
    assert len(inputs) <= len(reads)
    return list(found.values())


def test_views_are_inlined_with_their_expectations_and_their_inputs_stay_theirs(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.view
        @dlt.expect_or_drop("positive", "amount > 0")
        def positive():
            return dlt.read_stream("orders")

        @dlt.view
        def named():
            return spark.sql("SELECT p.*, name FROM STREAM(positive) p JOIN customers c ON p.id = c.id")

        @dlt.table
        def joined():
            return dlt.read_stream("named")
        """
    )
    project.write(SOURCES, "sources.py")
    graph = _graph(project)
    assert [str(read.dataset) for read in _inputs(graph, "joined")] == ["shop.named"]
    assert [str(read.dataset) for read in _inputs(graph, "named")] == ["shop.positive", "shop.customers"]
    assert [str(table) for table in graph.upstream_tables(Identifier("shop", "joined"))] == [
        "shop.orders",
        "shop.customers",
    ]
    assert graph.stored_schemas[Identifier("shop", "joined")].names == ("id", "at", "amount", "name")
    places = [graph.order.index(Identifier("shop", name)) for name in ("orders", "positive", "named", "joined")]
    assert places == sorted(places)


def test_files_load_in_any_order(project: PipelineProject) -> None:
    parts = {
        "bronze": '@dlt.table\ndef bronze():\n    return spark.readStream.format("rate").load()\n',
        "silver": '@dlt.table\ndef silver():\n    return dlt.read_stream("bronze").select("value")\n',
        "gold": '@dlt.table\ndef gold():\n    return dlt.read("silver").groupBy("value").count()\n',
    }
    found = set()
    for order in itertools.permutations(parts):
        for position, name in enumerate(order):
            project.write(parts[name], f"file{position}.py")
        graph = _graph(project)
        found.add((tuple(map(str, graph.order)), str(graph.stored_schemas[Identifier("shop", "gold")])))
    assert found == {(("shop.bronze", "shop.silver", "shop.gold"), "value bigint, count bigint")}


def test_a_deep_chain_needs_no_recursion(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        def t000():
            return spark.readStream.format("rate").load()

        def declare(number):
            @dlt.table(name=f"t{number:03}")
            def link():
                return dlt.read_stream(f"t{number - 1:03}")

        for number in range(150, 0, -1):
            declare(number)
        """
    )
    graph = _graph(project)
    assert [identifier.name for identifier in graph.order] == [f"t{number:03}" for number in range(151)]


def test_sources_have_stable_readable_names(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1}], folder="landing zone")
    project.write(
        """
        @dlt.table
        def several():
            files = spark.readStream.schema("id LONG").json("landing zone")
            chosen = spark.readStream.format("json").schema("id LONG").name("my_files").load("landing zone")
            again = spark.readStream.schema("id LONG").json("landing zone/")
            lake = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("landing zone")
            read = [dlt.read_stream("orders"), dlt.read_stream("orders"), spark.sql("SELECT id FROM STREAM orders")]
            frames = [files, chosen, again, lake, *read, spark.readStream.format("rate").load().select("value")]
            result = frames[0].select("id")
            for frame in frames[1:]:
                result = result.union(frame.select(frame.columns[0]))
            return result

        @dlt.table
        def fewer():
            return dlt.read_stream("orders").select("id").union(
                spark.readStream.schema("id LONG").json("landing zone")
            )
        """
    )
    project.write(SOURCES, "sources.py")
    graph = _graph(project)
    assert [read.name for read in _inputs(graph, "several")] == [
        "json_landing_zone",
        "my_files",
        "json_landing_zone_2",
        "cloudFiles_landing_zone",
        "orders",
        "orders_2",
        "orders_3",
        "rate_rate",
    ]
    assert [read.name for read in _inputs(graph, "fewer")] == ["orders", "json_landing_zone"]
    assert not (project.directory / ".penstock").exists()


def test_tables_of_the_storage_and_of_the_catalog(project: PipelineProject, spark: SparkSession) -> None:
    spark.range(3).write.format("delta").save(str(project.path("earlier")))
    spark.sql("CREATE TABLE elsewhere USING delta AS SELECT 1 AS one")
    try:
        project.write(
            """
            @dlt.table
            def stored_stream():
                return spark.readStream.table("Earlier")

            @dlt.table
            def stored_batch():
                return spark.sql("SELECT a.id FROM earlier a JOIN shop.earlier b USING (id)")

            @dlt.table
            def stored_sql_stream():
                return spark.sql("SELECT * FROM STREAM(shop.earlier)")

            @dlt.table
            def catalog_batch():
                return spark.read.table("elsewhere").join(spark.table("default.elsewhere"), "one")

            @dlt.table
            def catalog_stream():
                return spark.readStream.table("default.elsewhere")

            @dlt.table
            def catalog_sql_stream():
                return spark.sql("SELECT * FROM STREAM(elsewhere)")
            """
        )
        graph = _graph(project)
        found = {identifier.name: graph.stored_schemas[identifier].names for identifier in graph.order}
        assert found == {
            "stored_stream": ("id",),
            "stored_batch": ("id",),
            "stored_sql_stream": ("id",),
            "catalog_batch": ("one",),
            "catalog_stream": ("one",),
            "catalog_sql_stream": ("one",),
        }
        assert [(read.format, read.dataset, read.name) for read in _inputs(graph, "stored_stream")] == [
            ("delta", None, "Earlier")
        ]
        assert all(read.dataset is None for flow in graph.flows for read in flow.inputs)
        outcome = project.run()
        assert outcome.errors == ()
        assert {name: len(project.rows(name, columns[0])) for name, columns in found.items()} == {
            name: 3 if name.startswith("stored") else 1 for name in found
        }
    finally:
        spark.sql("DROP TABLE elsewhere")


def test_paths_are_relative_to_the_pipeline_and_mapped(
    project: PipelineProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    project.settings["paths"] = "{/Volumes/main/raw: ./lake, 'dbfs:/mnt': lake}"
    project.arrive("1", [{"a": 1}], folder="lake")
    (tmp_path / "lake" / "rows.csv").write_text("b\n2\n")
    project.write(
        """
        @dlt.table
        def mapped():
            return spark.readStream.schema("a INT").option("pathGlobFilter", "*.json").json("/Volumes/main/raw")

        @dlt.table
        def relative():
            return spark.read.csv("lake/rows.csv", header=True)

        @dlt.table
        def several():
            return spark.read.option("pathGlobFilter", "*.json").json(["lake", "dbfs:/mnt"])

        @dlt.table
        def by_option():
            return spark.read.format("json").option("path", "lake/1.json").load()

        @dlt.table
        def streamed_by_option():
            return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
                .option("pathGlobFilter", "*.json").option("path", "/Volumes/main/raw").load())

        @dlt.table
        def keyword():
            return spark.read.load(path="lake/1.json", format="json")

        @dlt.table
        def in_sql():
            return spark.sql("SELECT * FROM json.`lake/1.json`")
        """
    )
    graph = _graph(project)
    columns: dict[str, Any] = {identifier.name: graph.stored_schemas[identifier].names[0] for identifier in graph.order}
    assert columns == {
        "mapped": "a",
        "relative": "b",
        "several": "a",
        "by_option": "a",
        "streamed_by_option": "a",
        "keyword": "a",
        "in_sql": "a",
    }


def _tree(directory: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in sorted(directory.rglob("*")):
        if "__pycache__" not in path.parts and path.name != "penstock.yml":
            state = path.stat()
            found[str(path)] = (state.st_size, state.st_mtime_ns if path.is_file() else 0)
    return found
