"""What `cloud_files_state` tells of each source file, from checkpoints alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recorded.checkpoints import RAW, copied_checkpoints, place, query_id

from penstock.events.reader import read_events
from penstock.observe.checkpoints.inventory import Inventory
from penstock.observe.source_files import SOURCE_FILE_COLUMNS, source_files

SOURCE = "cloudFiles_orders"
NAMES = [column.split()[0] for column in SOURCE_FILE_COLUMNS.split(", ")]


def test_discovered_ingested_and_archived_files(recorded: Path, tmp_path: Path) -> None:
    layout = copied_checkpoints(recorded, tmp_path / "storage")
    checkpoint = place(layout, RAW)
    inventory = Inventory(layout.uri, read_events(layout.uri))
    [flow] = [each.flow for each in inventory.checkpoints if each.dataset == RAW and each.in_use]
    assert all(row[NAMES.index("commit_time")] for row in source_files(inventory) if row[0] == str(RAW))
    (checkpoint / "commits/11").unlink()
    (checkpoint / "commits/0").unlink()
    notes = Path(layout.schemas(RAW, flow, SOURCE)) / "_cleaned_files"
    notes.parent.mkdir(parents=True, exist_ok=True)
    cleaned = {"cleaned": 1, "archive_mode": "MOVE", "base": "/data", "move_location": "/old"}
    notes.write_text(json.dumps({"query": query_id(layout, RAW), **cleaned}))

    inventory = Inventory(layout.uri, read_events(layout.uri))
    rows = [dict(zip(NAMES, row, strict=True)) for row in source_files(inventory) if row[0] == str(RAW)]
    assert [row["path"] for row in rows] == [f"/data/orders-{step:05}.json" for step in range(12)]
    assert [row["ingestion_state"] for row in rows] == ["ARCHIVED"] * 2 + ["INGESTED"] * 9 + ["DISCOVERED"]
    assert [row["move_location"] for row in rows[:3]] == ["/old/orders-00000.json", "/old/orders-00001.json", None]
    known = [row["commit_time"] is not None for row in rows]
    assert known == [False, False, *[True] * 9, False], "nobody knows of what a deleted commit has read"
    assert {(row["flow_name"], row["source_id"]) for row in rows} == {(flow, SOURCE)}
