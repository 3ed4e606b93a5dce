"""`penstock drop`: what it removes, and when it refuses. No Spark: the pipeline's files load without it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import read_events
from penstock.graph.companions.late_rows import LATE_ROWS, late_rows_of, late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.identifier import Identifier
from penstock.plan.companion_tables import QUARANTINE
from penstock.plan.state import DATASET_TYPE
from penstock.storage import LockOwner, StorageLayout, StorageLock

OLD = Identifier("shop", "Old Orders")
runner = CliRunner()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\nlibraries: [{file: {path: orders.py}}]\n")
    (tmp_path / "orders.py").write_text("import dlt\n\n@dlt.table\ndef orders():\n    return spark.range(1)\n")
    layout = StorageLayout(str(tmp_path / ".penstock"))
    for name in ("orders", OLD.name):
        identifier = Identifier("shop", name)
        write_deltalake(layout.table(identifier), pa.table({"id": [1]}))
        for folder in layout.notes(identifier):
            Path(folder, "flow").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _left(project: Path) -> set[str]:
    storage = project / ".penstock"
    return {
        f"{part}/{each.name}"
        for part in ("tables", "checkpoints", "schemas")
        for each in (storage / part / "shop").iterdir()
    }


def test_table_checkpoints_and_schemas_go_together(project: Path) -> None:
    done = runner.invoke(app, ["drop", "old orders", str(project), "--yes", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["dropped"] == "shop.old orders"
    assert len(document["folders"]) == 4
    assert _left(project) == {"tables/orders", "checkpoints/orders", "schemas/orders"}
    [event] = [event for event in read_events(str(project / ".penstock")) if "user_action" in event.details]
    assert (event.details["user_action"]["action"], event.origin.dataset_name) == ("DROP", "shop.old orders")
    again = runner.invoke(app, ["drop", "old orders", str(project), "--yes"])
    assert again.exit_code == 2
    assert "TABLE_NOT_FOUND" in again.stderr


def test_the_quarantine_goes_with_its_table(project: Path) -> None:
    layout = StorageLayout(str(project / ".penstock"))
    (project / "orders.py").write_text(
        "import dlt\n\n@dlt.table\n@dlt.expect_or_quarantine('a', 'id > 0')\ndef orders():\n    return spark.range(1)\n"
    )
    for table in (OLD, Identifier("shop", "orders")):
        path = layout.table(quarantine_of(table))
        assert path == quarantine_path(layout.table(table))
        write_deltalake(path, pa.table({"id": [1]}))
        DeltaTable(path).alter.set_table_properties({DATASET_TYPE: QUARANTINE}, raise_if_not_exists=False)
    refused = runner.invoke(app, ["drop", "orders__quarantine", str(project), "--yes"])
    assert (refused.exit_code, "DATASET_STILL_DECLARED" in refused.stderr) == (3, True), refused.output
    assert runner.invoke(app, ["drop", "old orders", str(project), "--yes"]).exit_code == 0
    assert {name for name in _left(project) if "tables" in name} == {"tables/orders", "tables/orders__quarantine"}


def test_a_table_that_is_only_called_like_a_quarantine_stays(project: Path) -> None:
    path = StorageLayout(str(project / ".penstock")).table(quarantine_of(OLD))
    write_deltalake(path, pa.table({"id": [1]}))
    assert runner.invoke(app, ["drop", "old orders", str(project), "--yes"]).exit_code == 0
    assert Path(path, "_delta_log").exists()


def test_late_rows_go_with_their_table_or_alone(project: Path) -> None:
    layout = StorageLayout(str(project / ".penstock"))
    for table in (OLD, Identifier("shop", "orders")):
        path = layout.table(late_rows_of(table))
        assert path == late_rows_path(layout.table(table))
        write_deltalake(path, pa.table({"id": [1]}))
        DeltaTable(path).alter.set_table_properties({DATASET_TYPE: LATE_ROWS}, raise_if_not_exists=False)
    assert runner.invoke(app, ["drop", "old orders", str(project), "--yes"]).exit_code == 0
    assert {name for name in _left(project) if "tables" in name} == {"tables/orders", "tables/orders__late"}
    assert runner.invoke(app, ["drop", "orders__late", str(project), "--yes"]).exit_code == 0
    assert {name for name in _left(project) if "tables" in name} == {"tables/orders"}


def test_an_interrupted_drop_is_finished_by_the_next_one(project: Path) -> None:
    layout = StorageLayout(str(project / ".penstock"))
    for file in Path(layout.table(OLD), "_delta_log").iterdir():
        file.unlink()
    Path(layout.table(OLD), "_delta_log").rmdir()
    assert runner.invoke(app, ["drop", "old orders", str(project), "--yes"]).exit_code == 0
    assert "checkpoints/old~20orders" not in _left(project)


@pytest.mark.parametrize(
    ("arguments", "condition", "code"),
    [
        (["drop", "orders", "--yes"], "DATASET_STILL_DECLARED", 3),
        (["drop", "old orders"], "DROP_NOT_CONFIRMED", 2),
        (["drop", "nothing", "--yes"], "TABLE_NOT_FOUND", 2),
    ],
)
def test_refusals(project: Path, arguments: list[str], condition: str, code: int) -> None:
    before = _left(project)
    done = runner.invoke(app, arguments)
    assert (done.exit_code, condition in done.stderr) == (code, True), done.output
    assert _left(project) == before


def test_a_run_that_works_on_the_storage_is_not_disturbed(project: Path) -> None:
    with StorageLock(str(project / ".penstock"), LockOwner.current()):
        done = runner.invoke(app, ["drop", "old orders", "--yes"])
    assert (done.exit_code, "STORAGE_LOCKED" in done.stderr) == (3, True), done.output
    assert "tables/old~20orders" in _left(project)
