"""A catalog is part of a dataset's name; only the pipeline's own may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import PipelineRegistry, load_pipeline
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.rules import check
from penstock.graph.sql_query import SqlQuery

IMPORT = "import dlt\n"
MAIN = DefaultSchema("shop", "main")


def table(name: str) -> str:
    """Returns the declaration of one streaming table."""
    return f"@dlt.table(name={name!r})\ndef f(): ...\n"


def errors(registry: PipelineRegistry) -> list[tuple[str, str | None]]:
    """Returns the condition and the dataset of everything that is wrong."""
    return [(error.condition, error.dataset) for error in (*registry.errors, *check(registry.graph()))]


def names(registry: PipelineRegistry) -> list[str]:
    """Returns the declared datasets."""
    return [str(dataset.identifier) for dataset in registry.datasets]


@pytest.mark.parametrize("schema", ["shop", MAIN])
def test_the_pipelines_own_catalog_is_left_out(load: Load, schema: str) -> None:
    """Without a configured catalog, it is the one that datasets are declared with."""
    code = IMPORT + table("main.sales.orders") + table("MAIN.sales.items") + table("customers")
    code += "dlt.create_streaming_table('main.sales.all')\n@dlt.append_flow(target='sales.all')\ndef g(): ...\n"
    registry = load(code, default_schema=schema)
    assert errors(registry) == []
    assert names(registry) == ["sales.orders", "sales.items", "shop.customers", "sales.all"]
    assert registry.default_schema.catalog == registry.graph().catalog == "main"


@pytest.mark.parametrize("own", ["Silver", "bronze", "main"])
def test_datasets_of_several_catalogs_stay_apart(load: Load, own: str) -> None:
    code = IMPORT + table("bronze.sales.orders") + "@dlt.expect('a', 'b')\n" + table("silver.sales.orders")
    registry = load(code, default_schema=DefaultSchema("shop", own))
    assert errors(registry) == []
    both = ["bronze.sales.orders", "silver.sales.orders"]
    assert names(registry) == [each.removeprefix(f"{own.casefold()}.") for each in both]
    assert [len(each.expectations) for each in registry.datasets] == [0, 1]


def test_of_several_catalogs_the_own_one_must_be_chosen(load: Load) -> None:
    """Else the order of files would say whose tables lie without a catalog."""
    registry = load(IMPORT + table("a") + table("bronze.sales.orders") + table("Bronze.sales.b") + table("silver.s.c"))
    [error] = registry.errors
    assert (error.condition, error.dataset) == ("CATALOG_NOT_CHOSEN", "silver.s.c")
    assert (error.facts["catalog"], error.facts["first"]) == ("silver", "bronze")
    assert error.location is not None
    assert error.location.path == "pipeline.py"


def test_a_flow_finds_its_table_in_another_catalog(load: Load) -> None:
    code = "dlt.create_streaming_table('raw.sales.orders')\n@dlt.append_flow(target='RAW.sales.orders')\ndef g(): ...\n"
    registry = load(IMPORT + "dlt.create_streaming_table('sales.orders')\n" + code, default_schema=MAIN)
    graph = registry.graph()
    assert errors(registry) == [("PIPELINE_DATASET_WITHOUT_FLOW", "sales.orders")]
    assert len(graph.flows_to(Identifier("sales", "orders", "raw"))) == 1
    assert graph.flows_to(Identifier("sales", "orders")) == ()


def test_a_sink_is_in_no_catalog(load: Load) -> None:
    """Its checkpoint lies where it did."""
    code = "dlt.create_sink('raw.x.out', 'console')\n@dlt.append_flow(target='raw.x.out')\ndef g(): ...\n"
    registry = load(IMPORT + table("a") + code, default_schema=MAIN)
    graph = registry.graph()
    assert [each.condition for each in check(graph)] == []
    assert list(graph.sinks) == [Identifier("x", "out")]
    assert len(graph.flows_to(Identifier("x", "out"))) == 1


@pytest.mark.parametrize(
    "flow",
    [
        "@dlt.append_flow(target='raw.sales.orders')\ndef g(): ...\n",
        "dlt.create_auto_cdc_flow(target='raw.sales.orders', source='x', keys=['id'], sequence_by='at')\n",
    ],
)
def test_a_flow_into_another_catalog_is_not_one_into_the_own_table(load: Load, flow: str) -> None:
    registry = load(IMPORT + "dlt.create_streaming_table('sales.orders')\n" + flow, default_schema=MAIN)
    found = [error for error in check(registry.graph()) if error.condition == "FLOW_TARGET_UNKNOWN"]
    assert [(error.dataset, error.facts["suggestion"]) for error in found] == [
        ("raw.sales.orders", "Did you mean 'sales.orders'?")
    ]


def sql(folder: Path, text: str, schema: str = MAIN) -> PipelineRegistry:
    """Loads one SQL file."""
    (folder / "p.sql").write_text(text)
    return load_pipeline([folder / "p.sql"], root=folder, default_schema=schema)


def test_sql_names_datasets_and_targets_with_their_catalog(tmp_path: Path) -> None:
    text = """
        CREATE STREAMING TABLE sales.orders;
        CREATE FLOW a AS INSERT INTO main.sales.orders BY NAME SELECT 1;
        CREATE FLOW b AS INSERT INTO raw.sales.orders BY NAME SELECT 1;
        CREATE FLOW c AS AUTO CDC INTO `Raw`.sales.users FROM STREAM(x) KEYS (id) SEQUENCE BY at;
        CREATE MATERIALIZED VIEW raw.sales.items AS SELECT 1;
    """
    registry = sql(tmp_path, text)
    assert names(registry) == ["sales.orders", "raw.sales.items"]
    found = errors(registry)
    assert {(dataset or "").casefold() for condition, dataset in found if condition == "FLOW_TARGET_UNKNOWN"} == {
        "raw.sales.orders",
        "raw.sales.users",
    }


@pytest.mark.parametrize("schema", ["shop", MAIN])
def test_use_catalog_of_the_pipelines_own_changes_nothing(tmp_path: Path, schema: str) -> None:
    text = """
        CREATE MATERIALIZED VIEW sales.orders AS SELECT 1;
        USE CATALOG main;
        CREATE MATERIALIZED VIEW sales.items AS SELECT 1;
        USE main.gold;
        CREATE MATERIALIZED VIEW totals AS SELECT * FROM sales.orders;
    """
    registry = sql(tmp_path, text, schema)
    assert errors(registry) == []
    assert names(registry) == ["sales.orders", "sales.items", "gold.totals"]
    queries = [flow.function for flow in registry.flows]
    assert all(isinstance(query, SqlQuery) and query.catalog is None for query in queries)


def test_use_catalog_of_another_one_holds_for_names_without_one(tmp_path: Path) -> None:
    text = """
        USE CATALOG raw;
        CREATE MATERIALIZED VIEW main.sales.orders AS SELECT * FROM sales.orders;
        CREATE MATERIALIZED VIEW sales.items AS SELECT 1;
        CREATE MATERIALIZED VIEW plain AS SELECT 1;
        USE SCHEMA gold;
        CREATE MATERIALIZED VIEW totals AS SELECT 1;
    """
    registry = sql(tmp_path, text)
    assert errors(registry) == []
    assert names(registry) == ["sales.orders", "raw.sales.items", "raw.default.plain", "raw.gold.totals"]
    [query] = [flow.function for flow in registry.flows if flow.target.catalog is None]
    assert isinstance(query, SqlQuery)
    assert query.catalog == "raw"
