"""Commands that look at a pipeline, on a recorded event log and on tables written without Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.recorded.build import RECORDED, recorded_orders
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.events import decode
from penstock.graph.identifier import Identifier
from penstock.graph.protection import ROW_FILTER
from penstock.storage import StorageLayout

STORED = {"shop.bronze_orders", "shop.silver_orders", "shop.hourly_revenue", "shop.revenue_report"}
runner = CliRunner()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(f"name: orders\nschema: shop\nstorage: {RECORDED}\n")
    return tmp_path


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    return tmp_path


def ask(*words: str, code: int = 0) -> Result:
    result = runner.invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result


def answer(*words: str, code: int = 0) -> Any:
    return json.loads(ask(*words, "--json", code=code).stdout)


# --- status -----------------------------------------------------------------


def test_status_is_one_document_of_the_agreed_shape(project: Path) -> None:
    document = answer("status", str(project))
    assert {"id", "state", "started", "ended", "cause", "pipeline"} <= set(document["update"])
    datasets = {dataset["name"]: dataset for dataset in document["datasets"]}
    assert set(datasets) >= STORED
    keys = {"type", "status", "rows", "input_rows_per_second", "processed_rows_per_second", "watermark", "lag"}
    assert keys | {"state_rows", "expectations"} <= set(datasets["shop.silver_orders"])
    expectations = {one["name"]: one for one in datasets["shop.silver_orders"]["expectations"]}
    assert expectations["positive amount"]["action"] == "drop"
    assert expectations["positive amount"]["failed"] > 0


def test_status_for_people_names_tables_rows_and_expectations(project: Path) -> None:
    shown = ask("status", str(project)).stdout
    document = answer("status", str(project))
    silver = next(dataset for dataset in document["datasets"] if dataset["name"] == "shop.silver_orders")
    for word in ("bronze_orders", "completed", f"{silver['rows']:,}", "positive amount", "dropped"):
        assert word in shown


def test_status_before_the_first_run_is_no_error(empty: Path) -> None:
    assert "No update yet" in ask("status", str(empty)).stdout
    assert answer("status", str(empty))["datasets"] == []


def test_status_creates_nothing(empty: Path) -> None:
    ask("status", str(empty))
    assert [file.name for file in empty.iterdir()] == ["penstock.yml"]


def test_status_without_a_pipeline_is_a_configuration_error(tmp_path: Path) -> None:
    assert answer("status", str(tmp_path), code=2)["errors"][0]["condition"] == "PIPELINE_NOT_FOUND"


# --- events -----------------------------------------------------------------


def events(*words: str) -> list[Any]:
    return [decode(line) for line in ask("events", *words, "--json").stdout.splitlines()]


def test_events_are_json_lines_with_the_columns_of_the_log(project: Path) -> None:
    lines = ask("events", str(project), "-n", "0", "--json").stdout
    assert lines == "".join(file.read_text() for file in sorted((RECORDED / "events").glob("*.jsonl")))


def test_events_can_be_counted_and_chosen(project: Path) -> None:
    everything = events(str(project), "-n", "0")
    assert events(str(project), "-n", "7") == everything[-7:]
    errors = events(str(project), "--level", "error")
    assert errors == [event for event in everything if event.level.value == "ERROR"] != []
    silver = events(str(project), "--dataset", "SILVER_orders", "-n", "0")
    assert silver == [event for event in everything if event.origin.dataset_name == "shop.silver_orders"] != []
    assert (
        events(str(project), "--level", "info", "-n", "3")
        == [event for event in everything if event.level.value != "METRICS"][-3:]
    )


def test_events_for_people_are_a_line_each(project: Path) -> None:
    assert len(ask("events", str(project), "-n", "12").stdout.splitlines()) == 12


def test_no_events_is_no_error(empty: Path) -> None:
    result = ask("events", str(empty), "--json")
    assert result.stdout == ""


def test_follow_prints_what_is_appended_and_ends_with_ctrl_c(empty: Path) -> None:
    storage = empty / ".penstock"
    command = [sys.executable, "-m", "penstock.cli", "events", str(empty), "--follow", "--json", "-n", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        try:
            assert following.stdout is not None
            time.sleep(0.5)  # the log does not exist yet; following it is legal
            recorded_orders(str(storage))
            expected = "".join(file.read_text() for file in sorted((storage / "events").glob("*.jsonl")))
            for line in expected.splitlines():
                assert following.stdout.readline() == line + "\n"
            following.send_signal(signal.SIGINT)
            assert following.wait(10) == 0
        finally:
            following.kill()


# --- graph ------------------------------------------------------------------


def test_graph_draws_every_dataset_without_spark(project: Path) -> None:
    shown = ask("graph", str(project)).stdout
    assert all(name.partition(".")[2] in shown for name in STORED)


def test_graph_as_mermaid(project: Path) -> None:
    assert ask("graph", str(project), "--mermaid").stdout.startswith(("flowchart", "graph", "---"))


def test_graph_as_json_has_edges_between_its_nodes(project: Path) -> None:
    document = answer("graph", str(project))
    names = {node["name"] for node in document["nodes"]}
    assert names >= STORED
    assert {"from": "shop.bronze_orders", "to": "shop.paid_orders"} in document["edges"]
    assert all({edge["from"], edge["to"]} <= names for edge in document["edges"])


def test_graph_as_svg_is_written_where_the_user_stands(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask("graph", str(project), "--svg", "picture.svg").stdout == ""
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")


def test_graph_into_a_missing_folder_is_refused(project: Path) -> None:
    document = answer("graph", str(project), "--svg", str(project / "no/picture.svg"), code=2)
    assert document["errors"][0]["condition"] == "FILE_NOT_WRITABLE"


# --- show -------------------------------------------------------------------


@pytest.fixture
def filled(empty: Path) -> Path:
    uri = StorageLayout(str(empty / ".penstock")).table(Identifier("shop", "orders"))
    Path(uri).mkdir(parents=True)
    rows = pa.table({"id": [1, 2], "who": ["\x1b[2Jann", None]})
    write_deltalake(uri, rows)
    write_deltalake(uri, rows, mode="append")
    return empty


def test_show_is_a_list_of_rows(filled: Path) -> None:
    rows = answer("show", "orders", str(filled))
    assert sorted(rows, key=lambda row: row["id"])[-1] == {"id": 2, "who": None}
    assert len(rows) == 4
    assert len(answer("show", "shop.orders", str(filled), "--limit", "1")) == 1
    assert len(answer("show", "orders", str(filled), "--version", "0")) == 2


def test_show_for_people_is_harmless_and_says_when_there_is_more(filled: Path) -> None:
    result = ask("show", "orders", str(filled), "-n", "3")
    assert "\x1b" not in result.stdout
    assert "ann" in result.stdout
    assert "--limit" in result.stderr


def test_show_of_an_unknown_table_proposes_one(filled: Path) -> None:
    [error] = answer("show", "order", str(filled), code=2)["errors"]
    assert error["condition"] == "TABLE_NOT_FOUND"
    assert "'orders'" in error["message"]


def test_show_of_a_missing_version_is_a_state_error(filled: Path) -> None:
    [error] = answer("show", "orders", str(filled), "--version", "9", code=3)["errors"]
    assert error["condition"] == "TABLE_VERSION_NOT_FOUND"


def test_show_of_a_protected_table_asks_spark(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answered(config: object, statement: str, *, elsewhere: object) -> tuple[list[str], list[tuple[object, ...]]]:
        asked.append(statement)
        return ["id", "na`me"], [(1, "#"), (2, "#"), (3, "#")]

    monkeypatch.chdir(filled)
    monkeypatch.setattr("penstock.runtime.commands.query.run_sql", answered)
    table = DeltaTable(str(filled / ".penstock/tables/shop/orders"))
    table.alter.set_table_properties({ROW_FILTER: "mine(id)"}, raise_if_not_exists=False)
    shown = answer("show", "orders", str(filled), "-n", "2", "--version", "1", "--sort", "na`me", "--descending")
    assert shown == [{"id": 1, "na`me": "#"}, {"id": 2, "na`me": "#"}]
    assert "there are more" in ask("show", "orders", str(filled), "-n", "2", "--timestamp", "2026-01-01").output
    assert asked == [
        "SELECT * FROM `shop`.`orders` VERSION AS OF 1 ORDER BY `na``me` DESC NULLS LAST LIMIT 3",
        "SELECT * FROM `shop`.`orders` TIMESTAMP AS OF '2026-01-01T00:00:00+00:00' LIMIT 3",
    ]


def test_a_plan_keeps_its_lines(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = "== Physical Plan ==\n+- Scan\x1b[2J\n   +- below"
    monkeypatch.chdir(filled)
    monkeypatch.setattr("penstock.cli.commands.tables.sql._by_spark", lambda *_: (["plan"], [(plan,)]))
    assert ask("sql", "explain select 1", str(filled)).stdout == "== Physical Plan ==\n+- Scan\n   +- below\n"
    assert answer("sql", "explain select 1", str(filled)) == [{"plan": plan}]
    assert "1 row" in ask("sql", "SELECT 'x' AS plan", str(filled)).stderr


def test_show_takes_a_version_or_a_time(filled: Path) -> None:
    ask("show", "orders", str(filled), "--version", "0", "--timestamp", "2026-01-01", code=2)


# --- output into a closed pipe ----------------------------------------------


def test_a_reader_that_leaves_early_is_no_bug(project: Path) -> None:
    words = f"{sys.executable} -m penstock.cli events {project} -n 0 --json | head -1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
