"""The first hour with Penstock, command by command, on the project that `penstock init` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import own_process, penstock
from tests.integration.store_server import SERVERS, store_server, used_by_this_process
from tests.oracle.orders import QUICKSTART_COLUMNS
from tests.oracle.tables import assert_table, read_table
from tests.projects import TABLES, OrdersProject, one_file_a_batch, orders_project
from tests.short_lived_jvms import COMPILED_QUERIES

from penstock.storage.delta.table import all_rows, open_delta_table

pytestmark = pytest.mark.usefixtures("one_process")


def _by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {dataset["name"].rpartition(".")[2]: dataset for dataset in document["datasets"]}


def _events(project: OrdersProject) -> list[dict[str, Any]]:
    return penstock("events", project.directory, "--json", "--count", "0").expect(0).lines


def _metrics(project: OrdersProject) -> list[dict[str, Any]]:
    return [event for event in _events(project) if event["level"] == "METRICS"]


def _checkpoints(project: OrdersProject) -> dict[str, str]:
    """What the last run found of the checkpoint of each streaming flow; the size of its state is left out."""
    plans = [
        json.loads(event["details"]) for event in _events(project) if event["event_type"] == "planning_information"
    ]
    stages = [plan["planning_information"]["stages"] for plan in plans if plan["planning_information"]["stages"]]
    streams = [stage for stage in stages[-1] if stage["stage"] == "run_streaming_flow"]
    found = {stage["flow"]: stage["explanation"].partition("; checkpoint ")[2] for stage in streams}
    return {flow: checkpoint.partition("; ")[0] for flow, checkpoint in found.items()}


@pytest.mark.timeout(1200)
def test_from_init_to_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = orders_project(tmp_path / "orders")
    where = project.directory

    valid = penstock("validate", where, "--json").expect(0).document
    assert valid["valid"] is True
    assert valid["errors"] == []
    datasets = _by_name(valid)
    assert {name: dataset["type"] for name, dataset in datasets.items()} == {
        "bronze_orders": "STREAMING_TABLE",
        "silver_orders": "STREAMING_TABLE",
        "hourly_revenue": "STREAMING_TABLE",
        "top_products": "MATERIALIZED_VIEW",
    }
    assert [name.rpartition(".")[2] for name in datasets["top_products"]["inputs"]] == ["silver_orders"]
    assert [column["name"] for column in datasets["hourly_revenue"]["schema"]] == ["hour", "orders", "revenue"]
    assert not list(project.storage.glob("tables/**/*.parquet"))

    planned = penstock("plan", where, "--json").expect(0).document
    assert "bronze_orders" in str(planned)
    assert not list(project.storage.glob("tables/**/*.parquet"))

    with monkeypatch.context() as compiled:
        compiled.setenv("JAVA_TOOL_OPTIONS", COMPILED_QUERIES)  # as a user has it
        status = own_process("run", where, "--json").expect(0).document
    assert not [path for path in (project.storage, *project.storage.rglob("*")) if path.stat().st_mode & 0o077]
    expected = project.assert_tables()
    assert status["update"]["state"] == "COMPLETED"
    run = _by_name(status)
    assert run["bronze_orders"]["rows"] == len(expected.bronze_orders)
    assert run["silver_orders"]["rows"] == len(expected.silver_orders)
    assert run["silver_orders"]["dropped"] == expected.dropped
    counted = {each["name"]: (each["passed"], each["failed"]) for each in run["silver_orders"]["expectations"]}
    total = len(expected.bronze_orders)
    assert counted == {name: (total - failed, failed) for name, failed in expected.failed.items()}
    rescued = [row for row in read_table(project.table("bronze_orders")) if row["_rescued_data"] is not None]
    assert len(rescued) == expected.broken_lines > 0

    told = _events(project)
    assert [event["sequence"] for event in told] == list(range(told[0]["sequence"], told[0]["sequence"] + len(told)))
    types = [event["event_type"] for event in told]
    assert types[0] == "create_update"
    assert {"dataset_definition", "flow_definition", "flow_progress", "update_progress"} <= set(types)
    assert "COMPLETED" in [event for event in told if event["event_type"] == "update_progress"][-1]["details"]

    before = project.versions()
    batches = len(_metrics(project))
    penstock("run", where, "--json").expect(0)
    assert project.versions() == before, "nothing new, so nothing is written, not even the materialized view"
    project.assert_tables()
    # What another process noted is the same in this one.
    assert _checkpoints(project) == dict.fromkeys(("bronze_orders", "silver_orders", "hourly_revenue"), "unchanged")

    project.drop_files(4)
    (project.data / "orders-99999.json").write_text('{"order_id": "x", "amou\nnot json at all\n')
    penstock("run", where, "--json").expect(0)
    expected = project.assert_tables()
    new = [event for event in _metrics(project)[batches:] if event["origin"]["dataset_name"].endswith("bronze_orders")]
    assert new, "the batch of the new files is in the log"
    known = _by_name(penstock("status", where, "--json").expect(0).document)
    assert known["bronze_orders"]["rows"] == len(expected.bronze_orders) == total + 202
    failed = {each["name"]: each["failed"] for each in known["silver_orders"]["expectations"]}
    assert failed == expected.failed

    shown = penstock("show", "hourly_revenue", where, "--json", "--limit", "1000").expect(0).document
    assert_table(shown, expected.hourly_revenue, ("orders", "revenue"))
    assert penstock("show", "shop.top_products", where, "--json").expect(0).document[0].keys() == {
        "product",
        "orders",
        "revenue",
    }
    graph = penstock("graph", where, "--json").expect(0).document
    edges = {(edge["from"].rpartition(".")[2], edge["to"].rpartition(".")[2]) for edge in graph["edges"]}
    assert {("bronze_orders", "silver_orders"), ("silver_orders", "top_products")} <= edges
    drawing = penstock("graph", where).expect(0).stdout
    assert all(name in drawing for name in TABLES)
    assert "bronze_orders" in penstock("graph", where, "--mermaid").expect(0).stdout
    penstock("graph", where, "--svg", tmp_path / "graph.svg").expect(0)
    assert (tmp_path / "graph.svg").read_text().lstrip().startswith(("<svg", "<?xml"))


@pytest.mark.slow  # tests/spark/runtime/test_update.py refreshes everything too, in one process
@pytest.mark.timeout(1200)
def test_a_full_refresh_computes_the_same_again(tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders", files=4)
    penstock("run", project.directory).expect(0)
    project.assert_tables()
    penstock("run", project.directory, "--full-refresh-all").expect(0)
    project.assert_tables()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_silver_follows_bronze_when_there_are_cores_for_both(tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders", files=8)
    one_file_a_batch(project)
    project.add_settings("master: local[4]")
    own_process("run", project.directory).expect(0)
    project.assert_tables()
    told = [event["message"] for event in _events(project)]
    since = told[told.index("shop.silver_orders is RUNNING") :]
    assert any(message.startswith("shop.bronze_orders: batch ") for message in since), "silver waited for all of bronze"


@pytest.mark.slow  # in CI a smaller pipeline has its storage there: tests/spark/object_stores/test_storage.py
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", SERVERS)
def test_in_a_store_it_has_the_same_tables(kind: str, tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders")
    with store_server(kind, tmp_path) as store, used_by_this_process(store):
        project.add_settings("".join(f"\n  {key}: {json.dumps(value)}" for key, value in store.settings().items()))
        storage = store.bucket("lake") + "/orders"
        project.add_settings(f"storage: {storage}")
        assert_same_tables(project, storage)


def assert_same_tables(project: OrdersProject, storage: str) -> None:
    """Runs a project whose storage is elsewhere, and fails when a table differs from what it must hold."""
    own_process("run", project.directory, "--json").expect(0)  # Spark needs the settings of the pipeline file
    expected = project.expected()
    for name in TABLES:
        rows = all_rows(open_delta_table(f"{storage}/tables/shop/{name}")).to_pylist()
        columns = QUICKSTART_COLUMNS if name == "bronze_orders" else None
        assert_table(rows, getattr(expected, name), columns)
    shown = penstock("show", "hourly_revenue", project.directory, "--json", "--limit", "1000").expect(0).document
    assert_table(shown, expected.hourly_revenue, ("orders", "revenue"))
    assert not project.storage.exists()
