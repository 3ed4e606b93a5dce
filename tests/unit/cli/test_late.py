"""`penstock late show`, on late rows written without Spark; and the numbers elsewhere."""

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
from penstock.graph.companions import late_rows as names
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
runner = CliRunner()


def _row(number: int, **source: Any) -> dict[str, Any]:
    return {
        "id": f"order-{number}",
        "window": {"start": NOON - timedelta(hours=number), "end": NOON},
        names.EVENT_TIME: NOON - timedelta(hours=number),
        names.WATERMARK: NOON,
        names.SECONDS: 3600.0 * number,
        names.OPERATOR: "aggregate",
        names.FLOW: "hours",
        names.BATCH: number,
        names.TIME: NOON + timedelta(minutes=number),
        names.SOURCE: {"file_path": None, "topic": None, "partition": None, "offset": None} | source,
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    table = StorageLayout(str(tmp_path / ".penstock")).table(Identifier("shop", "hours"))
    write_deltalake(table, pa.table({"hour": [1]}))
    rows = [_row(1, file_path="file:///data/1.json"), _row(2, topic="orders", partition=2, offset=17), _row(3)]
    write_deltalake(names.late_rows_path(table), pa.Table.from_pylist(rows))
    return tmp_path


def _show(*words: str, code: int = 0) -> Any:
    result = runner.invoke(app, ["late", "show", *words], env={"COLUMNS": "300"})
    assert result.exit_code == code, result.output
    return result


def test_late_rows_of_the_same_table_in_another_catalog(project: Path) -> None:
    (project / "penstock.yml").write_text("name: orders\nschema: shop\ncatalog: bronze\n")
    table = StorageLayout(str(project / ".penstock")).table(Identifier("shop", "hours", "silver"))
    write_deltalake(table, pa.table({"hour": [1]}))
    write_deltalake(names.late_rows_path(table), pa.Table.from_pylist([_row(7)]))

    def shown(name: str) -> list[str]:
        return [row["id"] for row in json.loads(_show(name, str(project), "--json").stdout)]

    assert shown("silver.shop.hours") == shown("Silver.shop.hours__late") == ["order-7"]
    assert shown("bronze.shop.hours") == shown("hours") == ["order-3", "order-2", "order-1"]


@pytest.mark.parametrize("name", ["hours", "SHOP.Hours", "hours__late"])
def test_the_newest_rows_come_first_with_all_columns(project: Path, name: str) -> None:
    rows = json.loads(_show(name, str(project), "--json").stdout)
    assert [row["id"] for row in rows] == ["order-3", "order-2", "order-1"]
    assert rows[1][names.SOURCE] == {"file_path": None, "topic": "orders", "partition": 2, "offset": 17}
    assert len(json.loads(_show(name, str(project), "--json", "-n", "1").stdout)) == 1


def test_people_see_how_late_a_row_was_and_where_it_comes_from(project: Path) -> None:
    result = _show("hours", str(project))
    for words in ("order-1", "10800", "aggregate", "orders/2/17", "1.json", "2026-03-01 12:00:00"):
        assert words in result.stdout
    assert "{start: 2026-03-01 11:00:00+00:00, end: 2026-03-01 12:00:00+00:00}" in result.stdout
    assert "3 late rows, up to 10,800 s behind the watermark" in result.stderr
    assert "penstock late reprocess hours" in result.stderr


def test_rows_of_sessions_are_not_said_to_go_back(project: Path) -> None:
    table = StorageLayout(str(project / ".penstock")).table(Identifier("shop", "sessions"))
    write_deltalake(table, pa.table({"hour": [1]}))
    session = {"start": NOON, "end": NOON + timedelta(minutes=5)}
    write_deltalake(names.late_rows_path(table), pa.Table.from_pylist([_row(1) | {"session_window": session}]))
    assert "reprocess" not in _show("sessions", str(project)).stderr


@pytest.mark.parametrize("name", ["nothing", "visits"])
def test_a_table_without_late_rows_is_named_with_those_that_have_some(project: Path, name: str) -> None:
    [error] = json.loads(_show(name, str(project), "--json", code=2).stdout)["errors"]
    assert error["condition"] == "LATE_ROWS_NOT_FOUND"
    assert "shop.hours" in error["message"]
