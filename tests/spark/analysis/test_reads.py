"""Every way of reading resolves before any table exists, and nothing is written meanwhile."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.analysis.ways_of_reading import SOURCES, WAYS
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedGraph


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
    project.settings["catalog"] = "any_catalog"
    project.write("\n".join(way.view for way in WAYS), "a_views.py")
    project.write(SOURCES, "z_sources.py")
    before = _tree(project.directory)
    graph = _graph(project)
    for way in WAYS:
        view = graph.views[Identifier("shop", way.name)]
        assert [(str(read.dataset), read.streaming) for read in view.inputs] == way.expected_reads, way.name
        assert " ".join(view.schema.names) == way.columns, way.name
        assert view.streaming is ("*" in way.reads), way.name
    assert _tree(project.directory) == before


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


@pytest.mark.slow
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
