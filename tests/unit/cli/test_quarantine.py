"""`penstock quarantine show`, on quarantines written without Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.graph.companions import quarantine
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
runner = CliRunner()


def _row(number: int, rules: list[str], **source: Any) -> dict[str, Any]:
    return {
        "order id": f"order-{number}",
        "amount": -1.5 * number,
        quarantine.ROW_ID: f"row-{number}",
        quarantine.RULES: rules,
        quarantine.FLOW: "orders",
        quarantine.BATCH: number,
        quarantine.TIME: NOON + timedelta(minutes=number % 3),
        quarantine.SOURCE: {"file_path": None, "topic": None, "partition": None, "offset": None} | source,
        quarantine.REPLAY: None,
    }


ROWS = [
    _row(0, ["positive"], file_path="file:///data/1.json"),
    _row(1, ["positive", "known"], topic="orders", partition=2, offset=17),
    _row(2, ["known"]),
]
_FIELDS: list[tuple[str, Any]] = [
    ("order id", pa.string()),
    ("amount", pa.float64()),
    (quarantine.ROW_ID, pa.string()),
    (quarantine.RULES, pa.list_(pa.string())),
    (quarantine.FLOW, pa.string()),
    (quarantine.BATCH, pa.int64()),
    (quarantine.TIME, pa.timestamp("us", "UTC")),
    (
        quarantine.SOURCE,
        pa.struct(
            [("file_path", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
        ),
    ),
    (quarantine.REPLAY, pa.string()),
]
_SCHEMA = pa.schema(_FIELDS)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    layout = StorageLayout(str(tmp_path / ".penstock"))
    table = layout.table(Identifier("shop", "orders"))
    write_deltalake(table, pa.table({"order id": ["order-9"]}))
    write_deltalake(quarantine.quarantine_path(table), pa.Table.from_pylist(ROWS, _SCHEMA))
    write_deltalake(layout.table(Identifier("shop", "visits")), pa.table({"id": [1]}))
    return tmp_path


def _show(*words: str, code: int = 0) -> Any:
    result = runner.invoke(app, ["quarantine", "show", *words])
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("name", ["orders", "SHOP.Orders", "orders__quarantine"])
def test_the_newest_rows_come_first_with_all_columns(project: Path, name: str) -> None:
    rows = json.loads(_show(name, str(project), "--json").stdout)
    assert [row["order id"] for row in rows] == ["order-2", "order-1", "order-0"]
    assert rows[1][quarantine.RULES] == ["positive", "known"]
    assert rows[1][quarantine.SOURCE] == {"file_path": None, "topic": "orders", "partition": 2, "offset": 17}
    assert len(json.loads(_show(name, str(project), "--json", "-n", "1").stdout)) == 1


def test_people_see_rules_values_and_origin(project: Path) -> None:
    result = runner.invoke(app, ["quarantine", "show", "orders", str(project)], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for words in ("positive, known", "order-1", "orders/2/17", "1.json", "2026-03-01 12:01:00"):
        assert words in result.stdout
    assert "row-1" not in result.stdout
    assert "3 rows in quarantine (known: 2; positive: 2)" in result.stderr
    assert "penstock quarantine replay orders" in result.stderr


@pytest.mark.parametrize("name", ["visits", "nothing"])
def test_a_table_without_a_quarantine_is_named_with_those_that_have_one(project: Path, name: str) -> None:
    [error] = json.loads(_show(name, str(project), "--json", code=2).stdout)["errors"]
    assert error["condition"] == "QUARANTINE_NOT_FOUND"
    assert "shop.orders" in error["message"]


def test_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    [error] = json.loads(_show("orders", str(tmp_path), "--json", code=2).stdout)["errors"]
    assert error["condition"] == "QUARANTINE_NOT_FOUND"
