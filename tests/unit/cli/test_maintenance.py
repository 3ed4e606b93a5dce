"""`penstock optimize --dry-run`, and what both commands refuse before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

runner = CliRunner()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    layout = StorageLayout(str(tmp_path / ".penstock"))
    for day in (1, 2, 2):
        write_deltalake(layout.table(Identifier("shop", "orders")), pa.table({"id": [day]}), mode="append")
        days = pa.table({"id": [day], "day": [day]})
        write_deltalake(layout.table(Identifier("shop", "by_day")), days, mode="append", partition_by=["day"])
    return tmp_path


def test_files_of_one_partition_can_be_put_together(project: Path) -> None:
    done = runner.invoke(app, ["optimize", str(project), "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    told = {each["table"]: each["files_to_spare"] for each in json.loads(done.stdout)}
    assert told == {"shop.by_day": 1, "shop.orders": 2}
    done = runner.invoke(app, ["optimize", str(project), "--dry-run", "--table", "ORDERS"])
    assert done.stdout == "shop.orders: 2 files to spare\n"


@pytest.mark.parametrize("command", ["optimize", "vacuum"])
def test_an_unknown_table(project: Path, command: str) -> None:
    done = runner.invoke(app, [command, str(project), "--table", "order"])
    assert done.exit_code == 2
    assert "TABLE_NOT_FOUND" in done.output
    assert "orders" in done.output


def test_a_torn_table_is_named(project: Path) -> None:
    log = Path(StorageLayout(str(project / ".penstock")).table(Identifier("shop", "orders")), "_delta_log")
    (log / f"{0:020}.json").write_text("{", encoding="utf-8")
    done = runner.invoke(app, ["optimize", str(project), "--dry-run"])
    assert done.exit_code == 3
    assert "TABLE_NOT_READABLE" in done.output
