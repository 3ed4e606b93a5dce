"""What maintenance reads and deletes besides tables: its records, checkpoints that lag behind, former checkpoints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from penstock.graph.identifier import Identifier
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.changes import former_checkpoints
from penstock.storage.checkpoint.source_offsets import pending_versions
from penstock.storage.delta.commits import commit_time
from penstock.storage.maintenance_records import MaintenanceRecord, read_maintenance, write_maintenance

SILVER = Identifier("shop", "silver")


def planned(checkpoint: str, batch: int, **offsets: Any) -> None:
    folder = Path(checkpoint, "offsets")
    folder.mkdir(parents=True, exist_ok=True)
    head = ["v2", json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}})]
    lines = [f"{name}:{'-' if offset is None else json.dumps(offset)}" for name, offset in offsets.items()]
    (folder / str(batch)).write_text("\n".join([*head, *lines]), encoding="utf-8")


def delta(table: str, version: int) -> dict[str, Any]:
    return {"reservoirId": table, "reservoirVersion": version, "index": -1, "isStartingVersion": False}


def test_the_oldest_version_that_some_flow_has_still_to_read(tmp_path: Path) -> None:
    layout = StorageLayout(str(tmp_path))
    assert pending_versions(layout) == {}
    ahead, behind = layout.checkpoint(SILVER, "ahead", 0), layout.checkpoint(SILVER, "behind", 1)
    planned(ahead, 8, orders=delta("a", 80), files={"logOffset": 3})
    planned(behind, 1, orders=delta("a", 10))
    planned(behind, 2, orders=delta("a", 20), more=delta("b", 7), new=None)
    planned(behind, 3, orders=delta("a", 30), more=delta("b", 9), new=delta("c", 1))
    planned(layout.checkpoint(SILVER, "behind", 0), 3, orders=delta("a", 1))
    Path(layout.checkpoint(SILVER, "torn", 0), "offsets").mkdir(parents=True)
    Path(layout.checkpoint(SILVER, "torn", 0), "offsets", "0").write_text("v2\n", encoding="utf-8")
    assert pending_versions(layout) == {"a": 20, "b": 7, "c": 1}
    Path(behind, "commits").mkdir()
    Path(behind, "commits", "3").touch()
    assert pending_versions(layout) == {"a": 30, "b": 9, "c": 1}


@pytest.mark.parametrize("text", [None, "", "[]", '{"shop.silver": {"at": 1}}', '{"shop.silver": 3}', "{"])
def test_damaged_records_count_as_none(tmp_path: Path, text: str | None) -> None:
    layout = StorageLayout(str(tmp_path))
    if text is not None:
        Path(layout.maintenance).write_text(text, encoding="utf-8")
    assert read_maintenance(layout) == {}


def test_records_come_back(tmp_path: Path) -> None:
    layout = StorageLayout(str(tmp_path))
    records = {"shop.silver": MaintenanceRecord(1.5, 3, 0.5), "shop.gold": MaintenanceRecord(2.0, 0, 2.0)}
    write_maintenance(layout, records)
    assert read_maintenance(layout) == records


def test_former_checkpoints_go_when_they_are_old(tmp_path: Path) -> None:
    for name, age in [("0", 10), ("1", 5), ("2", 10), ("3", 10), ("2.before-20261120T000000Z", 10), ("notes", 10)]:
        folder = tmp_path / name / "commits"
        folder.mkdir(parents=True)
        (folder / "7").touch()
        for each in (folder / "7", folder):
            os.utime(each, (1000 - age, 1000 - age))
    found = former_checkpoints(Storage(str(tmp_path)), str(tmp_path), generation=2, before=993)
    assert [uri.rpartition("/")[2] for uri in found] == ["0", "2.before-20261120T000000Z"]
    assert former_checkpoints(Storage(str(tmp_path)), f"{tmp_path}/missing", generation=2, before=993) == []


def test_when_a_commit_was_made() -> None:
    assert commit_time('{"add": {}}\n{"commitInfo": {"timestamp": 1500}}') == 1.5
    assert commit_time('{"commitInfo": {"timestamp": 1500, "inCommitTimestamp": 2500}}') == 2.5
    assert commit_time('{"commitInfo": {}}') is None
    assert commit_time('{"add": {"path": "commitInfo"}}') is None
