"""A catalog is part of a dataset's name; only the pipeline's own may be left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import PipelineRegistry, load_pipeline
from penstock.graph.identifier import DefaultSchema
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


@pytest.mark.parametrize(
    ("schema", "wrong"), [("shop", "silver.sales.orders"), (DefaultSchema("shop", "Silver"), "bronze.sales.orders")]
)
def test_two_catalogs_are_not_merged(load: Load, schema: str, wrong: str) -> None:
    """Both would be one table `sales.orders`."""
    code = IMPORT + table("bronze.sales.orders") + "@dlt.expect('a', 'b')\n" + table("silver.sales.orders")
    registry = load(code, default_schema=schema)
    assert errors(registry) == [("DATASET_IN_ANOTHER_CATALOG", wrong)]
    [error] = registry.errors
    assert error.facts["short"] == "sales.orders"
    assert error.location is not None
    assert error.location.path == "pipeline.py"
    assert names(registry) == ["sales.orders"]
    assert set(map(str, registry.graph().refused)) == {wrong}


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
    found = errors(sql(tmp_path, text))
    assert [each for each in found if each[0] != "FLOW_TARGET_UNKNOWN"] == [
        ("DATASET_IN_ANOTHER_CATALOG", "raw.sales.items")
    ]
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
    """
    registry = sql(tmp_path, text)
    assert errors(registry) == [("DATASET_IN_ANOTHER_CATALOG", "raw.sales.items")]
    [query] = [flow.function for flow in registry.flows if flow.target.catalog is None]
    assert isinstance(query, SqlQuery)
    assert query.catalog == "raw"
