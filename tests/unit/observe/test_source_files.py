"""What `cloud_files_state` tells of each source file, from checkpoints alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.recorded.checkpoints import RAW, copied_checkpoints, place, query_id, write

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.source_files import (
    SOURCE_FILE_COLUMNS,
    files_of_checkpoint,
    files_of_table,
    source_files,
)
from penstock.errors import ConfigError
from penstock.events.log.reader import read_events

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
    assert [row["processed_time"] is not None for row in rows] == known

    every = [row[1:] for row in source_files(inventory) if row[0] == str(RAW)]
    assert list(files_of_table(inventory, f"`{RAW.name}`", RAW.schema.upper())) == every
    assert list(files_of_checkpoint(inventory, str(checkpoint))) == every
    copied = shutil.copytree(checkpoint, tmp_path / "elsewhere")
    elsewhere = [dict(zip(NAMES[1:], row, strict=True)) for row in files_of_checkpoint(inventory, str(copied))]
    assert [row["path"] for row in elsewhere] == [row["path"] for row in rows]
    assert {(row["flow_name"], row["archive_mode"]) for row in elsewhere} == {(None, None)}, "only the storage tells"


def test_a_size_is_that_of_the_file_while_it_is_the_same(recorded: Path, tmp_path: Path) -> None:
    layout = copied_checkpoints(recorded, tmp_path / "storage")
    files = [tmp_path / "in" / name for name in ("same.json", "changed.json", "gone.json")]
    files[0].parent.mkdir()
    for file in files:
        file.write_text("{}")
    step = [{"path": file.as_uri(), "timestamp": file.stat().st_mtime_ns // 10**6, "batchId": 11} for file in files]
    write(place(layout, RAW), f"sources/{SOURCE}/11", "\n".join(["v1", *map(json.dumps, step)]).encode())
    files[1].write_text("{} {}")
    os.utime(files[1], (1, 1))
    files[2].unlink()
    inventory = Inventory(layout.uri, read_events(layout.uri))
    rows = [dict(zip(NAMES[1:], row, strict=True)) for row in files_of_table(inventory, str(RAW), "")]
    assert [row["size"] for row in rows[-3:]] == [2, None, None]


def test_a_table_or_a_folder_without_a_checkpoint_is_refused(recorded: Path, tmp_path: Path) -> None:
    layout = copied_checkpoints(recorded, tmp_path / "storage")
    inventory = Inventory(layout.uri, read_events(layout.uri))
    with pytest.raises(ConfigError) as table:
        files_of_table(inventory, RAW.name[:-1], RAW.schema)
    assert (table.value.condition, table.value.facts["name"]) == (
        "CHECKPOINT_NOT_FOUND",
        f"{RAW.schema}.{RAW.name[:-1]}",
    )
    assert RAW.name in table.value.facts["hint"]
    with pytest.raises(ConfigError) as folder:
        files_of_checkpoint(inventory, str(tmp_path))
    assert (folder.value.condition, folder.value.facts["name"]) == ("CHECKPOINT_NOT_FOUND", str(tmp_path))
